"""Records: where their data stand in a file."""

from nsa_cli.core.record import Record, Source, locator

SOURCE = Source("a.txt", ".txt", "")


def test_locator_knows_elements_and_heads() -> None:
    """Elements have their own lines, single values one, other keys what is otherwise."""
    locate = locator({"capacity": 1, "weights": [3, 4]}, 9)
    places = [("weights", 1), ("weights", 2), ("weights", None), ("capacity", None), (None, None)]
    assert [locate(key, index) for key, index in places] == [4, None, None, 1, 9]
    assert locator({}, [5, 6])("anything", 1) == 6
    assert locator()("weights", 0) is None


def test_revised_data_are_found_under_their_old_names() -> None:
    """Renamed keys point to the file's own; others stay where they are."""
    record = Record({"profits": [1, 2], "capacity": 3}, SOURCE, locator({"profits": [7, 8], "capacity": 1}))
    revised = record.revised({"values": [1, 2], "capacity": 3}, {"values": "profits"})
    assert revised.data == {"values": [1, 2], "capacity": 3}
    assert (revised.locate("values", 1), revised.locate("capacity", None)) == (8, 1)
