// The objects of the layer damaris: variables and logs.
// Used by: its generated wrappers, any thread, which is quiet.
// Before it: a call of a client has returned. After it: its object.
#pragma once

#include <damaris/damaris.h>

#include <cstdint>

namespace damaris::recorder {

// `function`: the real one of the call, by whose library the variable's layout is asked for.
std::uint32_t of_variable(const void* function, const char* name);
std::uint32_t of_log(const char* name);
std::uint32_t of_log_handle(const char* name, const void* handle);
std::uint64_t bytes_of(const dc_piece_t* pieces, int count);
std::int64_t offset_of(const dc_position_t* where);
// Of what dc_variable has looked up, and the name of that or of a log; 0 and nullptr for an unknown one.
std::uint32_t of_handle(const void* function, const char* name, const void* handle);
const char* name_of(const void* handle);
// Of the block that the call moved; 0 if it failed, or stored nothing.
std::uint64_t block_bytes(const void* function, const char* variable, int result);

}  // namespace damaris::recorder
