"""`damaris view RUN`: the timeline of a recording in the browser."""

import sys
from argparse import ArgumentParser
from pathlib import Path


def main(parser: ArgumentParser, words: list[str]) -> None:
    parser.description = "Shows the timeline of a recording in the browser, until Ctrl-C: who was in which layer when, messages, questions, findings."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on this machine (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write one page that needs no server, for a small recording")
    given = parser.parse_args(words)
    if not 0 <= given.port < 65536:
        parser.error(f"--port {given.port} is no port: 0 to 65535")
    import damaris
    from damaris.timeline import Timeline

    timeline = Timeline(damaris.open(given.run))
    if given.output:
        from damaris.viewer.page import write

        write(timeline, given.output)
        return
    from damaris.viewer.server import serve

    def ready(address: str) -> None:
        print(f"{address}\nCtrl-C ends it.", flush=True)
        if not given.no_browser:
            import webbrowser

            if not webbrowser.open(address):
                print("no browser was found here; open the address in one on this machine", file=sys.stderr)

    serve(timeline, given.port, ready)
