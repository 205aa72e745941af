"""RFC 6962 trees: published vectors, an independent implementation, and the laws of proofs."""

import dataclasses

import pymerkle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_seal import (
    EMPTY_ROOT,
    Frontier,
    MerkleError,
    consistency_proof,
    extend,
    leaf_hash,
    node_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)
from lictor_seal.log.merkle import MAX_TREE_SIZE

# The leaves and roots that Certificate Transparency implementations share as test vectors.
CT_LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
CT_ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
CT_CONSISTENCY = {
    (1, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (6, 8): (
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 5): (
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}
HASH = b"\xaa" * 32


def leaves_of(size: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(size)]


def pymerkle_tree(leaves: list[bytes]) -> pymerkle.InmemoryTree:
    tree = pymerkle.InmemoryTree(algorithm="sha256")
    for leaf in leaves:
        tree.append_entry(leaf)
    return tree


def grown(leaves: list[bytes]) -> Frontier:
    frontier = Frontier()
    for leaf in leaves:
        frontier = frontier.append(leaf)
    return frontier


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    assert tree_root(CT_LEAVES[:size]).hex() == CT_ROOTS[size - 1]
    assert grown(CT_LEAVES[:size]).root().hex() == CT_ROOTS[size - 1]


def test_an_empty_tree_has_the_hash_of_nothing() -> None:
    assert tree_root([]) == Frontier().root() == EMPTY_ROOT


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 33, 100])
def test_pymerkle_finds_the_same_root_and_inclusion_proofs(size: int) -> None:
    leaves = leaves_of(size)
    tree = pymerkle_tree(leaves)
    frontier, proofs = extend(Frontier(), leaves)
    assert frontier.root() == tree.get_root()
    for index, proof in enumerate(proofs):
        # pymerkle counts leaves from one and puts the leaf itself in front of the path.
        theirs = tree.prove_inclusion(index + 1)
        assert (leaf_hash(leaves[index]), *proof) == tuple(theirs.path)
        theirs.path = [leaf_hash(leaves[index]), *proof]
        pymerkle.verify_inclusion(tree.get_leaf(index + 1), frontier.root(), theirs)


@pytest.mark.parametrize(("old_size", "new_size"), CT_CONSISTENCY)
def test_consistency_proofs_are_those_of_certificate_transparency(
    old_size: int, new_size: int
) -> None:
    proof = consistency_proof(CT_LEAVES[:new_size], old_size)
    assert tuple(sibling.hex() for sibling in proof) == CT_CONSISTENCY[old_size, new_size]


@pytest.mark.parametrize("size", [2, 3, 7, 8, 33])
def test_pymerkle_finds_the_same_states_consistent(size: int) -> None:
    # pymerkle orders the hashes of such a proof in its own way: the verdicts are compared.
    leaves = leaves_of(size)
    tree = pymerkle_tree(leaves)
    for old_size in range(1, size):
        old_root, root = tree_root(leaves[:old_size]), tree_root(leaves)
        pymerkle.verify_consistency(old_root, root, tree.prove_consistency(old_size, size))
        ours = consistency_proof(leaves, old_size)
        assert verify_consistency(
            old_size, tree.get_root(old_size), size, tree.get_root(size), ours
        )


def test_a_batch_gives_what_single_appends_give_for_every_split() -> None:
    leaves = leaves_of(40)
    for size in range(len(leaves) + 1):
        whole, _ = extend(Frontier(), leaves[:size])
        for old_size in range(size + 1):
            frontier, proofs = extend(grown(leaves[:old_size]), leaves[old_size:size])
            assert frontier == whole == grown(leaves[:size])
            assert len(proofs) == size - old_size
            for index, proof in enumerate(proofs, old_size):
                assert verify_inclusion(leaves[index], index, size, proof, whole.root())


def test_every_consistency_proof_holds_and_only_for_its_sizes() -> None:
    leaves = leaves_of(20)
    roots = [tree_root(leaves[:size]) for size in range(21)]
    for size in range(21):
        for old_size in range(size + 1):
            proof = consistency_proof(leaves[:size], old_size)
            assert verify_consistency(old_size, roots[old_size], size, roots[size], proof)
            if old_size > 0:
                assert not verify_consistency(old_size, HASH, size, roots[size], proof)
            if 0 < old_size < size:
                assert not verify_consistency(old_size, roots[old_size], size, HASH, proof)
                assert not verify_consistency(
                    old_size - 1, roots[old_size], size, roots[size], proof
                )
                assert not verify_consistency(
                    old_size, roots[old_size], size, roots[size], (*proof, HASH)
                )
                assert not verify_consistency(
                    old_size, roots[old_size], size, roots[size], proof[:-1]
                )


def test_a_rewritten_or_forked_log_is_not_consistent_with_what_it_was() -> None:
    leaves = leaves_of(11)
    rewritten = [*leaves[:3], b"another leaf", *leaves[4:], b"one more"]
    proof = consistency_proof(rewritten, 11)
    assert not verify_consistency(11, tree_root(leaves), 12, tree_root(rewritten), proof)


def test_a_cut_log_is_not_consistent_with_what_it_was() -> None:
    leaves = leaves_of(11)
    assert not verify_consistency(11, tree_root(leaves), 9, tree_root(leaves[:9]), ())
    assert not verify_consistency(11, tree_root(leaves), 11, tree_root(leaves[:9]), ())


@given(
    leaves=st.lists(st.binary(max_size=8), min_size=1, max_size=70),
    data=st.data(),
)
def test_a_changed_inclusion_proof_never_holds(leaves: list[bytes], data: st.DataObject) -> None:
    frontier, proofs = extend(Frontier(), leaves)
    size, root = frontier.size, frontier.root()
    index = data.draw(st.integers(0, size - 1))
    leaf, proof = leaves[index], proofs[index]
    assert verify_inclusion(leaf, index, size, proof, root)

    assert not verify_inclusion(leaf + b"!", index, size, proof, root)
    assert not verify_inclusion(leaf, index, size, proof, HASH)
    assert not verify_inclusion(leaf, index, size, (*proof, HASH), root)
    for position, sibling in enumerate(proof):
        flipped = bytes([sibling[0] ^ 1]) + sibling[1:]
        changed = (*proof[:position], flipped, *proof[position + 1 :])
        assert not verify_inclusion(leaf, index, size, changed, root)
        assert not verify_inclusion(leaf, index, size, proof[:position], root)
    for other in {index - 1, index + 1, size, size + 5, -1} - {index}:
        if not (0 <= other < size and proofs[other] == proof and leaves[other] == leaf):
            assert not verify_inclusion(leaf, other, size, proof, root)


def test_an_inner_node_does_not_pass_as_a_leaf() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    root = tree_root([b"a", b"b"])
    assert node_hash(left, right) == root
    assert not verify_inclusion(left + right, 0, 1, (), root)


def test_three_leaves_differ_from_four_with_the_last_one_repeated() -> None:
    assert tree_root([b"a", b"b", b"c"]) != tree_root([b"a", b"b", b"c", b"c"])


def test_hashes_of_a_wrong_length_are_refused_in_proofs() -> None:
    assert not verify_inclusion(b"a", 0, 2, (b"short",), tree_root([b"a", b"b"]))
    assert not verify_consistency(1, HASH, 2, HASH, (b"short",))


def test_a_proof_at_a_million_leaves_is_short_and_needs_the_frontier_only() -> None:
    # The peaks of a tree that nobody holds any more: appending needs nothing else.
    size = 1_000_003
    frontier = Frontier(size, tuple(leaf_hash(b"%d" % n) for n in range(size.bit_count())))
    new = leaves_of(300)
    extended, proofs = extend(frontier, new)
    assert extended.size == size + 300
    for index, proof in enumerate(proofs, size):
        assert len(proof) <= 40
        assert verify_inclusion(new[index - size], index, extended.size, proof, extended.root())


def test_an_empty_batch_changes_nothing() -> None:
    frontier = grown(leaves_of(5))
    assert extend(frontier, []) == (frontier, ())


@pytest.mark.parametrize("size", [0, 1, 6, 255])
def test_a_frontier_survives_its_json_form(size: int) -> None:
    frontier = grown(leaves_of(size))
    assert Frontier.from_json_value(frontier.to_json_value()) == frontier


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"size": 1, "peaks": []},
        {"size": True, "peaks": ["A" * 44]},
        {"size": 1, "peaks": ["AAAA"]},
        {"size": 1, "peaks": [None]},
        {"size": 1, "peaks": "A"},
        {"size": -1, "peaks": []},
        {"size": 0, "peaks": [], "root": ""},
    ],
)
def test_a_malformed_frontier_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(MerkleError, match="frontier"):
        Frontier.from_json_value(value)


def test_a_frontier_with_too_few_peaks_names_the_size_it_was_given() -> None:
    with pytest.raises(MerkleError, match="size 3 has 2 peaks, 1 were given"):
        Frontier(3, (HASH,))
    with pytest.raises(MerkleError, match="SHA-256"):
        Frontier(1, (b"short",))
    with pytest.raises(MerkleError, match="size"):
        Frontier(MAX_TREE_SIZE + 1)


def test_a_frontier_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Frontier().size = 1  # type: ignore[misc]


def test_a_consistency_proof_from_the_future_is_refused() -> None:
    with pytest.raises(MerkleError, match="old size 3"):
        consistency_proof(leaves_of(2), 3)
