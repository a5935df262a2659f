"""The JavaScript files: tests without a browser, run by Node.js, and rules that can be checked by reading the files."""

import re
from pathlib import Path

import pytest
from components import IMPORT, bundle
from node import run_node

ROOT = Path(__file__).parents[1]
MODULES = sorted([*ROOT.glob("app/components/*.js"), *ROOT.glob("app/*/js/*.js")])
STYLES = sorted([*ROOT.glob("app/components/*.css"), *ROOT.glob("app/*/js/*.css")])
TESTS = sorted(ROOT.glob("tests/js/*.js"))
COMPONENTS = [path for path in MODULES if "export default" in path.read_text()]
LONGEST_LINE = 124


def relative(path):
    return str(path.relative_to(ROOT))


def test_node_runs_all_tests_without_failures():
    files = [path for path in TESTS if path.name.endswith(".test.js")]
    found = run_node("--test", "--test-reporter=tap", *files)
    assert int(re.search(r"^# pass (\d+)", found, re.MULTILINE)[1]) >= len(files) > 0


def test_every_file_is_a_module_that_loads_by_itself():
    """A missing file or export is an error; without a page, a file must not use one while it is loaded."""
    imports = "\n".join(f'import "{path.as_uri()}";' for path in MODULES)
    run_node("--input-type=module", "--eval", imports)


@pytest.mark.parametrize("path", COMPONENTS, ids=relative)
def test_the_script_of_a_component_is_one_valid_module(path, tmp_path):
    """In particular, no two joined files declare the same name, and no import or other export is left."""
    script = tmp_path / "script.mjs"
    script.write_text(bundle(path))
    run_node("--check", script)
    assert not re.search(r"^\s*import\b", script.read_text(), re.MULTILINE)
    assert re.findall(r"^ *export\b.{8}", script.read_text(), re.MULTILINE) == ["export default"]


def imported_names(path):
    lines = re.findall(r"^import \{([^}]*)\}", path.read_text(), re.MULTILINE)
    return {name for line in lines for name in re.findall(r"\w+", line)}


def declared_names(path, prefix=""):
    return set(re.findall(rf"^{prefix}(?:function|class|const) (\w+)", path.read_text(), re.MULTILINE))


def code_of(path):
    """The code without imports, comments and strings, and without the dots of spread syntax."""
    return re.sub(r'//.*|"[^"\n]*"|\.\.\.', " ", IMPORT.sub("", path.read_text()))


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_every_imported_name_is_used(path):
    code = code_of(path)
    assert [name for name in imported_names(path) if not re.search(rf"\b{name}\b", code)] == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_names_of_other_files_are_imported(path):
    """A joined script would work without an import, so a missing one has no effect on a page."""
    code, neighbours = code_of(path), [other for other in MODULES if other.parent in (path.parent, MODULES[0].parent)]
    foreign = {name for other in neighbours for name in declared_names(other, "export ")}
    unknown = foreign - imported_names(path) - declared_names(path) - declared_names(path, "export ")
    called = [name for name in unknown if re.search(rf"(?<![\w.]){name}\(", code)]
    constants = [name for name in unknown if name[0].isupper() and re.search(rf"(?<![\w.]){name}\b", code)]
    assert called + constants == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_components_share_no_global_variables(path):
    assert "globalThis" not in path.read_text()


def test_pages_share_only_what_is_in_components():
    for path in MODULES:
        for name in IMPORT.findall(path.read_text()):
            folder = (path.parent / name).resolve().parent
            assert folder in (path.parent, ROOT / "app" / "components"), f"{relative(path)} imports {name}"


@pytest.mark.parametrize("path", [*MODULES, *STYLES, *TESTS], ids=relative)
def test_lines_are_short(path):
    lines = path.read_text().splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE] == []
