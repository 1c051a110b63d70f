// The storage's checks at start-up, its warnings about the folder, the chunks and the threads, and what helps against a failure of the file
// system.
// Used by: storage.cpp.
// Before it: the settings. After it: a storage whose names, types and folder are valid.
#pragma once

#include <damaris/plugin.h>

#include <string>
#include <vector>

#include "layout/memory.hpp"
#include "manifest/output_folder.hpp"
#include "settings/settings.hpp"

namespace damaris::hdf5 {

// Throw Error(DC_E_CONFIG) for a name or a type that a file cannot hold.
void check_names(const dc_host_t& host);
void check_types(const dc_host_t& host);

// Throws Error(DC_E_NO_OUTPUT) for files of an earlier run, `earlier`, if exists="refuse"; warns that they will be removed if "overwrite",
// and of those of other users that cannot be.
void check_earlier_files(const dc_host_t& host, const Settings& settings, const manifest::FileNames& names,
                         const std::vector<std::string>& earlier);

// Removes the incomplete files of a killed server.
void clean_up(const dc_host_t& host, const manifest::FileNames& names);

void warn_of_cut_chunks(const dc_host_t& host, MemoryBound memory);

// What a user can do about an error of the file system that keeps a step from being stored. `error`: errno, or a code of
// core/base/failure.hpp. Returns the end of a sentence, without a full stop.
std::string remedy_for(int error);

}  // namespace damaris::hdf5
