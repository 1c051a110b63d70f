#include "storage.hpp"

#include <damaris/error.hpp>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "hdf5_file.hpp"
#include "labels.hpp"
#include "output_file.hpp"
#include "output_folder.hpp"
#include "types.hpp"

namespace damaris::hdf5 {
namespace {

// A variable "a" and a group "a" would be a dataset and a group of one name.
void check_names(const dc_host_t& host) {
  std::set<std::string> variables;
  for (std::size_t i = 0; i < host.variable_count; ++i) variables.insert(host.variables[i].path);
  for (const std::string& inner : variables)
    for (std::size_t slash = inner.find('/'); slash != std::string::npos; slash = inner.find('/', slash + 1))
      if (const std::string outer = inner.substr(0, slash); variables.count(outer) > 0)
        throw Error(DC_E_CONFIG, "the variable '" + outer + "' and the group of '" + inner +
                                     "' have the same name, which an HDF5 file cannot hold; rename one of them");
}

void check_types(const dc_host_t& host) {
  for (std::size_t i = 0; i < host.variable_count; ++i) type_of(host.variables[i]);
}

void clean_up(const dc_host_t& host, const FileNames& names) {
  const int removed = remove_leftovers(names);
  if (removed == 0) return;
  const std::string line =
      "hdf5: removed " + std::to_string(removed) + " incomplete files that a killed server left in '" + names.folder() + "'";
  host.log(host.self, 2, line.c_str());
}

void check_earlier_files(const dc_host_t& host, const Settings& settings, const FileNames& names) {
  const std::vector<std::string> earlier = files_of_earlier_run(names);
  if (earlier.empty()) return;
  const std::string found =
      std::to_string(earlier.size()) + " files of an earlier run are in '" + names.folder() + "' (such as " + earlier.back() + ")";
  if (!settings.overwrite)
    throw Error(DC_E_NO_OUTPUT,
                found + " and exists=\"refuse\"; move them away, choose another basename or say exists=\"overwrite\"");
  const std::string line = "hdf5: " + found + "; those of iterations that this run writes too will be replaced, the others stay";
  host.log(host.self, 1, line.c_str());
}

std::string remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there";
    case ENOENT:
      return "the output folder was there at start-up: put it back";
    case EEXIST:
      return "move that file away, or say exists=\"overwrite\"";
    case EACCES:
    case EPERM:
    case EROFS:
      return "make the output folder writable";
    default:
      return "look at that file system";
  }
}

std::uint64_t bytes_of(const Piece& piece) { return static_cast<std::uint64_t>(volume(piece.box)) * piece.variable->element_bytes; }

}  // namespace

Storage::Storage(const dc_host_t& host)
    : host_(host),
      settings_(read_settings(host)),
      names_(settings_.basename, host.host_name, host.server_index),
      writer_(settings_.filters, settings_.threads) {
  check_names(host);
  check_types(host);
  check_can_write(names_);
  clean_up(host, names_);
  check_earlier_files(host, settings_, names_);
}

void Storage::store(const dc_iteration_t& iteration) {
  if (iteration.dataset_count == 0) return;
  try {
    write_file(iteration);
  } catch (const Failure& failure) {
    throw Error(DC_E_IO, "iteration " + std::to_string(iteration.step) + " is not stored as " + names_.final_path(iteration.step) +
                             ": " + failure.what() + "; " + remedy_for(failure.system_error()));
  }
}

void Storage::write_file(const dc_iteration_t& iteration) {
  OutputFile output(names_.temporary_path(iteration.step), names_.final_path(iteration.step));
  Hdf5File file(output.descriptor(), output.temporary_path());
  label_file(file.id(), host_, iteration);
  std::uint64_t raw_bytes = 0;
  for (const Piece& piece : pieces_of(iteration)) {
    Dataset dataset = writer_.write(file.id(), piece);
    label_dataset(dataset, piece, iteration);
    dataset.close("write the dataset", piece.path);
    file.check();
    raw_bytes += bytes_of(piece);
  }
  file.close();
  const std::uint64_t file_bytes = output.publish(settings_.overwrite);
  host_.stored(host_.self, output.final_path().c_str(), file_bytes, raw_bytes);
}

}  // namespace damaris::hdf5
