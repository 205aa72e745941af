"""Operations whose results nobody models: what is known of them all the same."""
