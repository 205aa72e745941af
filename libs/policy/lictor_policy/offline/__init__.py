"""Past events judged again: explanation, replay, backtest, statistics, stories."""
