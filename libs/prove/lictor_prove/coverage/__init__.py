"""Coverage: which effects of a program a guarantee or a required contract speaks about."""
