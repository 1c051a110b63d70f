// What the model tests let run: clients and servers made of the code in src/core/shm and src/server.
// Used by: model_test.cpp, which is not instrumented and so must not see that code itself.
// Before it: explorer.hpp. After it: lane_scenarios.cpp, block_scenarios.cpp.
#pragma once

#include "model/explorer.hpp"

namespace damaris::explorer {

// A client pushes `events` into a lane that holds two, a server takes them.
Make lane(int events);
// The same with a server that sleeps when there is nothing, and a client that rings after each push.
Make doorbell(int events);
// The same with a client that sleeps while the lane is full, and a server that tells of room.
Make room(int events);
// A server posts to a client's mailbox, which holds shm::kMails and some already.
struct Mails {
  int before = 0, posted = 0, taken = 0;
};
Make mailbox(const Mails& how);
// A server advances its frontier while it holds reports for which the mailbox has no room; a client whose flush returns must have all.
Make flush(const Mails& how);

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

}  // namespace damaris::explorer
