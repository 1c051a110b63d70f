#include "views/lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "core/base/error.hpp"
#include "manifest/entries.hpp"
#include "plugins/hdf5/file/hdf5_file.hpp"

namespace damaris::bench {
namespace {

constexpr std::int64_t kValues = 4;  // of a variable of a server

}  // namespace

Lines::Lines(const RunSizes& sizes, const Folder& folder, std::int64_t next)
    : sizes_(sizes),
      folder_(folder),
      run_({sizes.variables, 1, sizeof(float) * kValues, true}, (folder.path() / "run").string()),
      next_(next) {}

std::string Lines::file_name(int server, std::int64_t step) const {
  return "run.node" + std::to_string(server) + ".s" + std::to_string(server) + ".i" + std::to_string(step) + ".h5";
}

void Lines::add_step() {
  manifest::StepEntry entry;
  entry.step = next_++;
  entry.files.resize(static_cast<std::size_t>(sizes_.servers));
  for (int server = 0; server < sizes_.servers; ++server) {
    manifest::FileEntry& file = entry.files[static_cast<std::size_t>(server)];
    file.name = file_name(server, entry.step);
    file.server = server;
    file.checksum = 1;
    entry.servers.push_back(server);
    for (std::size_t v = 0; v < host().variable_count; ++v) {
      manifest::DatasetEntry& dataset = file.datasets.emplace_back();
      dataset.path = dataset.variable = host().variables[v].path;
      dataset.has_position = true;
      dataset.box = {1, {kValues * server}, {kValues * (server + 1)}};
      dataset.global = {kValues * sizes_.servers};
      dataset.lowest_source = server;
    }
  }
  std::ofstream(record(), std::ios::app) << manifest::to_json(entry).dump() << "\n";
}

void Lines::make_files(std::int64_t step) {
  const std::vector<float> values(kValues, 1);
  for (int server = 0; server < sizes_.servers; ++server) {
    const std::string path = (folder_.path() / file_name(server, step)).string();
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) throw system_error(DC_E_IO, "cannot create " + path, errno, "give --folder one with room");
    hdf5::Hdf5File file(descriptor, path);
    const hsize_t extent = kValues;
    const hdf5::Space space(H5Screate_simple(1, &extent, nullptr), "make a space");
    for (std::size_t v = 0; v < host().variable_count; ++v) {
      const hdf5::Dataset set(H5Dcreate2(file.id(), host().variables[v].path, H5T_NATIVE_FLOAT, space.id(), file.links().id(),
                                         H5P_DEFAULT, H5P_DEFAULT),
                              "create the dataset", path);
      hdf5::checked(H5Dwrite(set.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write", path);
    }
    file.close();
    ::close(descriptor);
  }
}

}  // namespace damaris::bench
