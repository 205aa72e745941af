"""What every model stands on: the base model, canonical JSON, ids."""
