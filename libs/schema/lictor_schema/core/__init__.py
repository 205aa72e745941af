"""What every model stands on: strict base models, canonical JSON, ids, placeholders."""
