// What the model tests let run: clients and servers made of the code in src/core/shm and src/server.
// Used by: model_test.cpp, which is not instrumented and so must not see that code itself.
// Before it: explorer.hpp. After it: arena_scenarios.cpp and the other scenarios.
#pragma once

#include "model/explorer.hpp"

namespace damaris::explorer {

// A client pushes `events` into a lane that holds two, a server takes them.
Make lane(int events);
// The same, and another thread asks how many there are.
Make waiting(int events);
// The same with a server that sleeps when there is nothing, and a client that rings after each push.
Make doorbell(int events);
// The same with a client that sleeps while the lane is full, and a server that tells of room.
Make room(int events);
// A client sleeps until a step is processed.
Make flush();
// A server posts to a client's mailbox, which holds shm::kMails and some already.
struct Mails {
  int before = 0, posted = 0, taken = 0;
};
Make mailbox(const Mails& how);
// A server advances its frontier while it holds reports for which the mailbox has no room; a client whose flush returns must have all.
Make reports(const Mails& how);

struct Blocks {
  int steps = 3;               // blocks that the client writes, one a step; the arena holds two
  int held = 1;                // how many of them the server has in hand before it releases the first
  bool last_first = false;     // and releases the newest of these first
  bool event_first = false;    // a mistake: the event is pushed before the block is published
  bool release_first = false;  // a mistake: the server counts a block as released before it says so in the block
};
// A client reserves, fills and hands over blocks; a server takes, checks, reads and releases them.
Make blocks(const Blocks& how);
// A client asks, a server answers; the client may give up before the answer comes.
Make question();
// One thread does all of both in turn. For a mortal thread: what it leaves is looked at as recovery does.
Make one_after_the_other(int steps);
// A client looks for room in an arena of two segments while the server releases a block in the other one.
Make segments();
// A client takes the arena of a pool over from a dead one while the server releases a block of it.
Make rebuilding();

// The two threads of a server: rings both ways, each with notes that lie elsewhere.
struct Rings {
  int capacity = 1, notes = 2;
  bool with_answers = true;
};
Make rings(const Rings& how);
// A client and the work side wake the intake side, and the intake side the work side, until the intake side ends.
Make intake_bell();
Make work_bell(int jobs);
// The work side fails while the intake side sleeps.
Make work_failure();
// The intake side asks how often the work side has looked, and takes what it has brought.
Make looks();
// The work side reads a dataset in some calls, the intake side moves it, the client fills its block anew.

// Server and client: what the server has stored, and which reports a client then finds.
enum class Sign { processed, durable, drained };
Make mail_before(Sign sign);
// A block goes from a client to the work side and back, and is filled again.
Make round_trip();
// A server of two threads stores a step and releases its blocks. To be killed: recovery finds each block once.
Make settling();
// A server notes facts about an open step in the place of an old one. To be killed.
Make facts();
// Two clients omit writes of steps that share a word. To be killed: the first, whose step is the earlier or the later one.
Make omissions(bool later_dies);
// A server gives up steps while a client asks about one: about one that was given up before, or one that was stored.
Make given_up(bool stored);
// The region is made ready, and read.
Make ready();

// Clients: two processes with one pool; two that claim slots, with one id or for one slot; one that attaches.
Make pool();
struct Claims {
  int slots = 1;
  bool same_id = false;
};
Make claims(const Claims& how);
Make attaching();
// Two threads of a client, one lane after the other.
Make lane_of_threads();
// One thread opens and ends steps, another one asks.
Make step_state();
// A client fills an arena, or makes one hole of two, while another process walks it and looks into its lane.
Make walking(bool merges);

}  // namespace damaris::explorer
