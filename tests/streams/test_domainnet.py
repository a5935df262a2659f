"""Images in folders DOMAIN/CLASS/, with coloured squares, and with the real PACS if MGEM_DATA has it."""

import os
import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from pydantic import ValidationError

from mgem_core import RunConfig, UsageError, run
from mgem_core.cli import main
from mgem_core.config.keys import expected_keys
from mgem_core.streams import BENCHMARKS, domainnet

real = pytest.mark.skipif(
    not os.environ.get("MGEM_DATA") or bool(BENCHMARKS["pacs"].missing()),
    reason="MGEM_DATA names no folder with pacs in it",
)


def write_class(folder, count, colour=(0, 0, 0), size=(12, 8)):
    folder.mkdir(parents=True)
    for i in range(count):
        Image.new("RGB", size, colour).save(folder / f"{i:03}.png")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Twelve classes per domain; the red value of an image is its class, the green value its domain."""
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    monkeypatch.setattr(domainnet, "FEWEST", 5)
    domainnet.read_task.cache_clear()
    for d, domain in enumerate(("clipart", "real", "sketch")):
        for c in range(12):
            write_class(tmp_path / "domainnet" / domain / f"class{c:02}", 10, (20 * c, 100 * d, 255))
    yield tmp_path
    domainnet.read_task.cache_clear()


def classes_of(stream, task):
    """Return the classes of the training images of a task, from their red values, by label."""
    red = stream.images[stream.tasks[task].train].view(-1, *domainnet.SHAPE)[:, 0, 0, 0] // 20
    labels = stream.labels[stream.tasks[task].train]
    return {int(label): set(red[labels == label].tolist()) for label in labels.unique()}


def test_tasks_have_five_classes_of_one_domain(root):
    stream = BENCHMARKS["domainnet"].open(2, 0, ("sketch", "clipart"))
    assert stream.images.dtype == torch.uint8
    assert [task.name.partition(":")[0] for task in stream.tasks] == ["sketch", "clipart"]
    drawn = [classes_of(stream, t) for t in (0, 1)]
    assert [list(one) for one in drawn] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert all(len(reds) == 1 for one in drawn for reds in one.values())
    assert len({red for one in drawn for reds in one.values() for red in reds}) == 10
    for t, (task, green) in enumerate(zip(stream.tasks, (200, 0), strict=True)):
        x = stream.batch(t, task.train).x
        assert x.shape == (40, 3, 96, 96)
        assert x[:, 1].mul(255).round().unique().tolist() == [green]
        assert (len(task.train), len(task.test)) == (40, 10)
        assert stream.mask(t).nonzero().flatten().tolist() == list(task.classes) == list(drawn[t])


def test_the_seed_draws_the_classes_and_the_images(root):
    a, same, other = (BENCHMARKS["domainnet"].open(2, seed, ("sketch", "real")) for seed in (1, 1, 2))
    assert [task.name for task in a.tasks] == [task.name for task in same.tasks]
    assert torch.equal(a.images, same.images)
    assert [task.name for task in a.tasks] != [task.name for task in other.tasks]


def test_seed_draws_an_ordered_pair_by_default(root):
    available = ("clipart", "real", "sketch")
    pairs = {
        tuple(task.name.partition(":")[0] for task in domainnet.open_stream("domainnet", available, 2, seed, ()).tasks)
        for seed in range(40)
    }
    assert pairs == {(a, b) for a in available for b in available if a != b}


def test_second_task_reuses_as_few_classes_as_possible(root):
    for domain in ("sketch", "real"):
        for path in sorted((root / "domainnet" / domain).iterdir())[7:]:
            path.rename(root / f"{domain} {path.name}")
    one, two = domainnet.draw_classes([root / "domainnet" / domain for domain in ("sketch", "real")], 0)
    assert [len(set(one)), len(set(two)), len({*one, *two})] == [5, 5, 7]


def test_small_or_unshared_class_is_not_drawn(root):
    write_class(root / "domainnet" / "sketch" / "rare", 4)
    write_class(root / "domainnet" / "real" / "rare", 9)
    write_class(root / "domainnet" / "real" / "elsewhere", 9)
    drawn = [
        name
        for seed in range(20)
        for classes in domainnet.draw_classes([root / "domainnet" / "sketch", root / "domainnet" / "real"], seed)
        for name in classes
    ]
    assert not {"rare", "elsewhere"} & set(drawn)


def test_seed_draws_images_of_a_large_class(root, monkeypatch):
    monkeypatch.setattr(domainnet, "MOST", 5)
    stream = BENCHMARKS["domainnet"].open(2, 0, ("sketch", "real"))
    assert [(len(task.train), len(task.test)) for task in stream.tasks] == [(20, 5), (20, 5)]


def test_image_is_resized_and_ordered_by_channel(tmp_path):
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[:, :30] = (255, 0, 0)
    pixels[:, 30:] = (0, 0, 255)
    Image.fromarray(pixels).save(tmp_path / "half.png")
    red, green, blue = domainnet._read_pixels(tmp_path / "half.png").reshape(domainnet.SHAPE)
    assert (red[:, :40] == 255).all()
    assert (red[:, 56:] == 0).all()
    assert not green.any()
    assert (blue[:, 56:] == 255).all()


def test_a_run_learns_from_the_folders(root):
    fields = {"domains": "sketch+real", "network": "conv-small", "iterations": 2, "batch_size": 8, "memory": 8}
    *_, finished = run(RunConfig(benchmark="domainnet", **fields))
    assert finished.status == "finished"


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def clear_byte(place):
    def damage(path):
        content = bytearray(path.read_bytes())
        content[place] = 0
        path.write_bytes(content)

    return damage


@pytest.mark.parametrize("damage", [cut, clear_byte(11), clear_byte(36)], ids=["cut", "header", "length of a chunk"])
def test_damaged_image_is_named(root, damage):
    first = domainnet.draw_classes([root / "domainnet" / "sketch", root / "domainnet" / "real"], 0)[0][0]
    damaged = root / "domainnet" / "sketch" / first / "003.png"
    damage(damaged)
    with pytest.raises(UsageError) as caught:
        run(RunConfig(benchmark="domainnet", domains="sketch+real"))
    assert str(caught.value).startswith(f"{damaged} is not an image that can be read (")
    assert str(caught.value).endswith("); replace it or remove it.")


def text_instead(path):
    path.write_text("an error page")


def list_data(capsys):
    """Return the state of each benchmark and domain in `mgem data list --images`, from domainnet on."""
    assert main(["data", "list", "--images"]) == 0
    lines = capsys.readouterr().out.partition("domainnet ")[2].partition("\npacs ")[0].splitlines()[1:]
    return {line.split()[0]: line[62:] for line in lines}


@pytest.mark.parametrize("harm", [cut, text_instead])
@pytest.mark.parametrize("ending", ["png", "jpg", "JPEG"])
def test_list_names_an_unreadable_image(root, harm, ending, capsys):
    folder = root / "domainnet" / "sketch" / "class07"
    pixels = np.random.default_rng(0).integers(0, 256, (300, 300, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / f"noise.{ending}")
    assert list_data(capsys)["sketch"].startswith(f"available in {root}/domainnet/sketch (")
    harm(folder / f"noise.{ending}")
    states = list_data(capsys)
    assert states["sketch"].startswith(f"unusable: its image {folder}/noise.{ending} cannot be read (")
    assert states["real"].startswith("available in ")


def test_unreadable_image_of_a_small_class_is_ignored(root, capsys):
    write_class(root / "domainnet" / "sketch" / "rare", 4)
    text_instead(root / "domainnet" / "sketch" / "rare" / "000.png")
    assert list_data(capsys)["sketch"].startswith("available in ")


def test_missing_data_is_one_sentence(root):
    assert not RunConfig(benchmark="domainnet", domains="sketch+real").missing_data()
    quickdraw = root / "domainnet" / "quickdraw"
    remedy = (
        "unpack quickdraw.zip from http://ai.bu.edu/M3SDA so that each class has a folder there, or name other domains."
    )
    config = RunConfig(benchmark="domainnet", domains="sketch+quickdraw")
    assert config.missing_data() == f"domainnet needs DomainNet quickdraw, which is not in {quickdraw}; {remedy}"
    for c in range(4):
        write_class(quickdraw / f"class{c}", 5)
    needed = "does not have 5 classes with at least 5 images (.jpg, .jpeg, .png)"
    assert config.missing_data() == f"domainnet needs DomainNet quickdraw, whose folder {quickdraw} {needed}; {remedy}"
    with pytest.raises(UsageError, match="domainnet needs DomainNet infograph"):
        run(RunConfig(benchmark="domainnet", tasks=2))


def test_any_other_folder_is_a_domain(root, capsys):
    for domain, colour in (("Art", (0, 50, 0)), ("Real World", (0, 150, 0))):
        for c in range(10):
            write_class(root / "domainnet" / domain / f"thing{c}", 10, colour)
    config = RunConfig(benchmark="domainnet", domains="Art+Real World", network="conv-small", iterations=2, memory=8)
    *_, finished = run(config)
    assert finished.status == "finished"
    assert [task.name.partition(":")[0] for task in config.open_stream().tasks] == ["Art", "Real World"]
    states = list_data(capsys)
    assert states["Art"] == f"available in {root}/domainnet/Art (your own images)"
    assert "Real" in states
    assert list(states)[:6] == list(BENCHMARKS["domainnet"].domains)


def test_custom_folder_changes_the_key_of_its_runs_only(root):
    configs = [RunConfig(benchmark="domainnet", tasks=2, domains=domains) for domains in ("Art+real", "", "sketch+real")]
    before = expected_keys(configs)
    write_class(root / "domainnet" / "Art" / "thing", 10)
    after = expected_keys(configs)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, True]


def test_custom_folders_are_not_drawn_by_default(root):
    for domain in ("infograph", "painting", "quickdraw"):
        shutil.copytree(root / "domainnet" / "real", root / "domainnet" / domain)
    (root / "domainnet" / "Art").mkdir()
    configs = [RunConfig(benchmark="domainnet", seed=seed) for seed in range(8)]
    assert not configs[0].missing_data(thorough=True)
    drawn = {task.name.partition(":")[0] for config in configs for task in config.open_stream().tasks}
    assert drawn <= set(BENCHMARKS["domainnet"].domains)


def test_missing_folder_is_reported_and_config_stays_valid(root):
    config = RunConfig(benchmark="domainnet", domains="art+real")
    assert config.missing_data() == (
        f"domainnet needs the domain art, which is not in {root}/domainnet/art; put a folder with images of each class "
        "there, or name other domains, such as clipart, infograph, painting, quickdraw, real, sketch."
    )


@pytest.mark.parametrize("name", ["../pacs", "a/b", "/etc", ".hidden", ".."])
def test_domain_must_be_a_folder_of_the_benchmark(root, name):
    with pytest.raises(ValidationError, match="domainnet has clipart, infograph, painting, quickdraw, real, sketch"):
        RunConfig(benchmark="domainnet", domains=f"real+{name}")
    with pytest.raises(KeyError):
        BENCHMARKS["domainnet"].domains[name]


def test_domains_without_common_classes_are_rejected(root):
    for c in range(5):
        write_class(root / "domainnet" / "painting" / f"other{c}", 5)
    with pytest.raises(UsageError, match="have 0 classes of at least 5 images in common; 5 are needed"):
        run(RunConfig(benchmark="domainnet", domains="painting+real"))


@real
def test_real_images_can_be_learned():
    fields = {"network": "conv-small", "iterations": 60, "probe_every": 0, "lr": 0.03}
    *_, finished = run(RunConfig(benchmark="pacs", domains="sketch", method="single", **fields))
    assert finished.acc > 40


def test_added_image_changes_keys_and_data(root):
    folder = root / "domainnet" / "real"
    before = domainnet.version(folder)
    assert before == domainnet.version(folder)
    assert domainnet.version(root / "nowhere") == ""
    images = len(BENCHMARKS["domainnet"].open(2, 0, ("real", "sketch")).images)
    for c in range(12):
        Image.new("RGB", (12, 8)).save(folder / f"class{c:02}" / "new.png")
    assert domainnet.version(folder) != before
    assert len(BENCHMARKS["domainnet"].open(2, 0, ("real", "sketch")).images) == images + 5
