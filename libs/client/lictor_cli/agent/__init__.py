"""`lictor agent`: definitions linted, shown, compared, published."""
