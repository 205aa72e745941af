"""`lictor log`: the Merkle log verified, exported, proved, cosigned."""
