"""Decision records, and what runtimes and operators report about them."""
