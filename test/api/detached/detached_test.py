"""A detached server and its clients, each a process of its own: starts, refusals, deaths. No MPI anywhere.

Usage: detached_test.py TALKING_CLIENT   (damaris-server is on the path; the working directory is the test's own)
"""
import os, signal, subprocess, sys, time, unittest
from pathlib import Path

CLIENT = sys.argv.pop(1)
CODES = {"config": -200, "mismatch": -201, "duplicate": -106, "lost": -600, "earlier": -401, "timeout": -305, "stale": -203}


def regions():
    return [p for p in Path("/dev/shm").glob("damaris.*.*") if f".{os.environ['DAMARIS_JOB']}." in p.name]


class Client:
    """One client process; every call waits for its answer."""

    def __init__(self):
        self.process = subprocess.Popen([CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, verb, number=0, text="-"):
        self.send(verb, number, text)
        return self.answer()

    def send(self, verb, number=0, text="-"):
        self.process.stdin.write(f"{verb} {number} {text}\n")
        self.process.stdin.flush()

    def answer(self):
        code, _, sentence = self.process.stdout.readline().strip().partition(" ")
        return int(code), sentence

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


class Detached(unittest.TestCase):
    def setUp(self):
        os.environ["DAMARIS_JOB"] = f"t{os.getpid()}{self._testMethodName[-12:]}"
        self.clients, self.servers = [], []
        self.name = self._testMethodName

    def tearDown(self):
        for client in self.clients:
            client.process.kill()
            client.process.wait()
            client.process.stdin.close()
            client.process.stdout.close()
        for server in self.servers:
            server.terminate()  # drains and leaves
            server.communicate(timeout=20)
        deadline = time.monotonic() + 20
        while regions() and time.monotonic() < deadline:
            time.sleep(0.02)
        left = regions()
        for region in left:
            region.unlink()
        self.assertEqual([], left)

    def xml(self, clients=1, more="", stale="refuse", start="auto"):
        path = Path(f"{self.name}.xml").absolute()
        path.write_text(f"""<simulation name="detached">
  <architecture><dedicated cores="1"/><clients count="{clients}"/><server start="{start}" attach-timeout="5s" finalize-timeout="10s"/>
    <buffer size="1MiB" stale="{stale}"/></architecture>
  <data><layout name="four" type="int" dimensions="4"/><variable name="line" layout="four"/></data>
  <storage><hdf5 basename="{self.name}"/></storage>
  <actions><event name="tick"/></actions>{more}
</simulation>""")
        return str(path)

    def client(self):
        self.clients.append(Client())
        return self.clients[-1]

    def server(self, *arguments):
        process = subprocess.Popen(["damaris-server", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.servers.append(process)
        return process

    def started_server(self, *arguments):
        before = len(regions())
        process = self.server(*arguments)
        deadline = time.monotonic() + 20
        while len(regions()) == before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return process

    def files(self):
        return sorted(p.name for p in Path(".").glob(f"{self.name}.*.h5"))

    def test_rule_7_of_several_clients_that_come_at_once_one_starts_the_server(self):
        xml = self.xml(clients=4)
        clients = [self.client() for _ in range(4)]
        for source, client in enumerate(clients):
            client.send("initialize", source, xml)
        self.assertEqual([(0, "")] * 4, [client.answer() for client in clients])
        self.assertEqual(1, len(regions()))
        for client in clients:
            self.assertEqual((0, ""), client.ask("write", 0))
        for client in clients:
            client.send("finalize")
        self.assertEqual([(0, "")] * 4, [client.answer() for client in clients])
        self.assertEqual(1, len(self.files()))

    def test_rule_16_a_second_server_beside_a_living_one_is_refused_and_named(self):
        xml = self.xml()
        first = self.started_server(xml)
        second = self.server(xml)
        _, said = second.communicate(timeout=20)
        self.assertEqual(1, second.returncode)
        self.assertIn("a server of 'detached' already runs on this node (process %d" % first.pid, said)
        client = self.client()
        self.assertEqual((0, ""), client.ask("initialize", 0, xml))
        self.assertEqual((0, ""), client.ask("finalize"))
        self.assertEqual(0, first.wait(20))

    def test_ids_are_unique_and_slots_are_counted(self):
        xml = self.xml(clients=2)
        one, two, three = self.client(), self.client(), self.client()
        self.assertEqual((0, ""), one.ask("initialize", 7, xml))
        code, said = two.ask("initialize", 7, xml)
        self.assertEqual(CODES["duplicate"], code)
        self.assertIn("client id 7 is already attached", said)
        self.assertEqual((0, ""), two.ask("initialize", 8, xml))
        code, said = three.ask("initialize", 9, xml)
        self.assertEqual(CODES["config"], code)
        self.assertIn("already has its 2 clients", said)
        for client in (one, two):
            client.send("finalize")
        self.assertEqual([(0, "")] * 2, [one.answer(), two.answer()])

    def test_another_version_of_the_configuration_is_refused(self):
        self.started_server(self.xml())
        client = self.client()
        code, said = client.ask("initialize", 0, self.xml(more="<!-- changed -->"))
        self.assertEqual(CODES["mismatch"], code)
        self.assertIn("was started with another version of", said)

    def test_no_server_and_none_to_be_started_is_a_bounded_wait(self):
        client = self.client()
        start = time.monotonic()
        code, said = client.ask("initialize", 0, self.xml(start="manual"))
        self.assertEqual(CODES["timeout"], code)
        self.assertIn("found no server of 'detached' on this node within 5000 ms", said)
        self.assertLess(time.monotonic() - start, 60)

    def test_a_client_that_is_killed_leaves_the_others_a_partial_iteration(self):
        xml = self.xml(clients=2)
        victim, other = self.client(), self.client()
        self.assertEqual((0, ""), victim.ask("initialize", 0, xml))
        self.assertEqual((0, ""), other.ask("initialize", 1, xml))
        self.assertEqual((0, ""), victim.ask("write", 0))
        victim.process.kill()
        victim.process.wait()
        self.assertEqual((0, ""), other.ask("write", 0))
        other.ask("end", 0)
        code, said = other.ask("flush", 0)
        self.assertIn(code, (0, CODES["earlier"]))  # the end of the iteration may have told it already
        self.assertEqual(1, len(self.files()))
        other.ask("finalize")

    def kill_server_with_data(self, xml):
        server = self.started_server(xml, "--clients", "2")
        client = self.client()
        self.assertEqual((0, ""), client.ask("initialize", 0, xml))
        self.assertEqual((0, ""), client.ask("write", 0))
        server.kill()
        server.wait()
        return client

    def test_a_server_that_is_killed_is_noticed_within_a_second_by_end_signal_and_flush(self):
        client = self.kill_server_with_data(self.xml(stale="discard"))
        for verb in ("signal", "end", "flush"):
            start = time.monotonic()
            code, said = client.ask(verb, 0) if verb != "flush" else client.ask(verb, -1)
            self.assertEqual(CODES["lost"], code, verb)
            self.assertIn("is gone; what was published stays in /dev/shm/damaris.", said)
            self.assertLess(time.monotonic() - start, 1, verb)
        self.discard_what_is_left()

    def discard_what_is_left(self):
        server = self.started_server(self.xml(stale="discard"))
        server.terminate()
        server.wait(20)

    def test_rule_16_a_dead_servers_data_are_refused_and_named_unless_discarded(self):
        client = self.kill_server_with_data(self.xml())
        client.process.kill()
        region = regions()[0]
        server = self.server(self.xml())
        _, said = server.communicate(timeout=20)
        self.assertEqual(1, server.returncode)
        self.assertIn(region.name, said)
        self.assertIn("never stored", said)
        late = self.client()
        code, said = late.ask("initialize", 0, self.xml())
        self.assertEqual(CODES["stale"], code)  # the server's own reason reaches the client that starts it
        self.assertIn(region.name, said)
        self.discard_what_is_left()

    def test_sigterm_stores_what_was_published(self):
        xml = self.xml()
        server = self.started_server(xml)
        client = self.client()
        self.assertEqual((0, ""), client.ask("initialize", 0, xml))
        self.assertEqual((0, ""), client.ask("write", 0))
        server.terminate()
        server.wait(20)
        self.assertEqual(1, len(self.files()))
        self.assertEqual(CODES["lost"], client.ask("end", 0)[0])

    def test_a_stopped_server_is_a_time_out_and_no_loss(self):
        xml = self.xml()
        server = self.started_server(xml)
        client = self.client()
        self.assertEqual((0, ""), client.ask("initialize", 0, xml))
        server.send_signal(signal.SIGSTOP)
        self.assertEqual((0, ""), client.ask("write", 0))
        self.assertEqual((0, ""), client.ask("end", 0))
        code, said = client.ask("flush", 0)
        self.assertEqual(CODES["timeout"], code)
        server.send_signal(signal.SIGCONT)
        self.assertEqual((0, ""), client.ask("flush", 0))
        self.assertEqual((0, ""), client.ask("finalize"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
