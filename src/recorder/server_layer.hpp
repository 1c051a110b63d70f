// Which block of a client a call is about, in the layers damaris and server: what links them.
// Used by: the wrappers of the layer damaris, any thread.
// Before it: the call's slot. After it: a slot `of_block` behind it, the table `blocks` of unify.
#pragma once

#include <cstdint>

#include "recorder/call.hpp"

namespace damaris::recorder {

// `bytes`: of the block. Nothing of a block that was not stored, or in a process that is no client.
void tell_block(const Call& call, std::int32_t block, std::uint64_t bytes);

}  // namespace damaris::recorder
