# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of `python3 -m analysis`. Modules are loaded when a command needs them: starting must be quick."""
import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path

from analysis.errors import CANNOT_TELL, ENVIRONMENT, INTERNAL, OK, USAGE, Trouble, nearest

FORMATS = ("text", "md", "html", "json", "csv", "lkp", "benchstat")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Trouble(f"{self.prog}: {message}; see {self.prog} --help", USAGE)


def write_out(text, path):
    """Whole or not at all; '-' is standard output."""
    if path in (None, "-"):
        if hasattr(sys.stdout, "reconfigure"):      # a terminal that has no ± gets a question mark, not an error
            sys.stdout.reconfigure(errors="replace")
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    path = Path(path)
    try:
        if path.exists() and not path.is_file():    # /dev/null or a pipe: a rename would put a file in its place
            path.write_text(text, encoding="utf-8")
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent or ".")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise Trouble(f"{path}: cannot be written: {error.strerror}: give another place with -o") from None


def renderer(name):
    from importlib import import_module
    module = {"text": "text", "md": "markdown", "json": "jsonout", "csv": "exports", "lkp": "exports",
              "benchstat": "exports", "html": "html"}[name]
    return getattr(import_module(f"analysis.render.{module}"), name if module == "exports" else "render")


def _comparison_parser(prog, text):
    parser = Parser(prog=prog, description=text)
    parser.add_argument("directories", nargs="+", metavar="DIR", help="campaign directory")
    parser.add_argument("--baseline", metavar="SPEC", help="kernel to compare with (label, spec, variant or id)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output; - is standard output; lkp: a "
                        "directory gets a matrix.json for each kernel and case")
    return parser


def _explained(directories, work):
    """A traceback over a damaged record is no answer: where something breaks, the records are held against the schema,
    and the field that is not as it says is named."""
    try:
        return work()
    except (Trouble, OSError):
        raise
    except Exception:
        from analysis.validate import check
        for directory in directories:
            check(directory)
        raise


def cmd_compare(arguments):
    parser = _comparison_parser("shootdown compare", "Compares the kernels of a campaign. Exit status: 0 no regression, 1 "
                                "regression or broken, 125 cannot tell.")
    parser.add_argument("--format", choices=FORMATS, default="text", metavar="|".join(FORMATS))
    parser.add_argument("--html", action="store_true", help="write report.html beside the records as well")
    parser.add_argument("--json", action="store_true", help="same as --format json")
    parser.add_argument("--costs", metavar="FILE", help="cost model in YAML: nanoseconds of each event, for predicted time")
    options = parser.parse_args(arguments)
    chosen = "json" if options.json else options.format
    from analysis.compare import compare
    comparison = _explained(options.directories, lambda: compare(options.directories, options.baseline, options.costs))
    output = options.output
    if chosen == "html" and output is None:
        output = Path(options.directories[0]) / "report.html"
        print(f"report: {output}", file=sys.stderr)
    if chosen == "lkp" and output and (output.endswith("/") or os.path.isdir(output)):
        _write_lkp(comparison, Path(output))
    else:
        write_out(_explained(options.directories, lambda: renderer(chosen)(comparison)), output)
    if options.html and chosen != "html":
        path = Path(options.directories[0]) / "report.html"
        write_out(renderer("html")(comparison), path)
        print(f"report: {path}", file=sys.stderr)
    return comparison.report["exit_status"]


def _write_lkp(comparison, directory):
    from analysis.render.exports import lkp_files
    for name, text in lkp_files(comparison):
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Trouble(f"{path.parent}: cannot be made: {error.strerror}: give another place with -o") from None
        write_out(text, path)


def cmd_claims(arguments):
    parser = _comparison_parser("shootdown claims", "Checks the claims of a campaign's series: 0 shown, 1 one is "
                                "contradicted, 125 not shown here.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="only the exit status")
    options = parser.parse_args(arguments)
    from analysis.claims import exit_status
    from analysis.compare import compare
    report = _explained(options.directories, lambda: compare(options.directories, options.baseline)).report
    if options.json:
        import json
        write_out(json.dumps({"claims": report["claims"], "exit_status": exit_status(report["claims"])}, indent=1) + "\n",
                  options.output)
    elif not options.quiet:
        from analysis.render.text import claim_lines
        write_out("\n".join(claim_lines(report["claims"])) + "\n", options.output)
    return exit_status(report["claims"])


def cmd_check(arguments):
    parser = Parser(prog="analysis check", description="Holds plan and records of a campaign against the JSON Schemas.")
    parser.add_argument("directory", metavar="DIR")
    from analysis.validate import check
    count = check(parser.parse_args(arguments).directory)
    print(f"plan and {count} records are as the schemas say")
    return OK


def cmd_ask(arguments):
    Parser(prog="analysis ask", description="One JSON object in, one out.").parse_args(arguments)
    from analysis.ask import main as ask
    return ask(sys.stdin, sys.stdout)


def cmd_selftest(arguments):
    from analysis.selftest import main as selftest
    return selftest(arguments)


def cmd_history(arguments):
    from analysis.history import main as history
    return history(arguments)


COMMANDS = {
    "compare": (cmd_compare, "compare the kernels of a campaign"),
    "claims": (cmd_claims, "check the published claims of a campaign's series"),
    "check": (cmd_check, "hold a campaign against the JSON Schemas"),
    "ask": (cmd_ask, "answer the runner's question: JSON in, JSON out"),
    "selftest": (cmd_selftest, "prove the statistics on simulated campaigns"),
    "history": (cmd_history, "scores of kernels over time, with change points"),
}


def usage():
    rows = "\n".join(f"    {name:<10} {text}" for name, (_, text) in COMMANDS.items())
    return f"usage: python3 -m analysis COMMAND [ARGUMENT]...\n\n{rows}\n"


def one_line(text):
    """Names from outside may hold anything: nothing that a terminal would obey or that would break the line."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def run(arguments):
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return OK if arguments else USAGE
    command = COMMANDS.get(arguments[0])
    if command is None:
        raise Trouble(f"{arguments[0]}: no such command{nearest(arguments[0], COMMANDS)}", USAGE)
    return command[0](arguments[1:])


def main(arguments):
    warnings.simplefilter("ignore", RuntimeWarning)     # of numpy; what is not finite is told as missing
    try:
        return run(arguments)
    except Trouble as trouble:
        print(f"shootdown: {one_line(trouble)}", file=sys.stderr)
        return trouble.status
    except SystemExit as stop:      # argparse --help
        return stop.code or OK
    except KeyboardInterrupt:
        return CANNOT_TELL
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        print(f"shootdown: {error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        return ENVIRONMENT
    except Exception as error:  # noqa: BLE001 - the outermost caller reports once
        if os.environ.get("SHOOTDOWN_TRACEBACK"):
            raise
        print(f"shootdown: internal error in analysis: {type(error).__name__}: {one_line(error)}; set SHOOTDOWN_TRACEBACK=1 to see "
              "where", file=sys.stderr)
        return INTERNAL
