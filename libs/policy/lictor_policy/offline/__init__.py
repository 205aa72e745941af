"""Packs tried on the past: explanation, backtest, replay, statistics, stories."""
