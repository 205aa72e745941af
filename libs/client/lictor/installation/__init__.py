"""Where the installation is that a client speaks to, and how it is reached."""
