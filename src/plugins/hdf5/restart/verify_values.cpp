#include "verify_values.hpp"

#include <memory>

#include "stored_values.hpp"

namespace damaris::hdf5 {
namespace {

class Hdf5Values : public manifest::ValueReader {
 public:
  explicit Hdf5Values(const std::string& path) : file_(open_stored(path)) {}
  std::uint32_t checksum_of(const manifest::DatasetEntry& dataset) override { return hdf5::checksum_of(file_, dataset); }
  std::uint32_t checksum_of(const manifest::DatasetEntry& dataset, const Box& part) override {
    return checksum_of_part(file_, dataset, part);
  }

 private:
  QuietErrors quiet_;
  File file_;
};

}  // namespace

manifest::Verification verify(const std::string& manifest, manifest::VerifyOptions options) {
  options.open = [](const std::string& path) { return std::make_unique<Hdf5Values>(path); };
  return manifest::verify(manifest, options);
}

void close_nothing_at_exit() { H5dont_atexit(); }

}  // namespace damaris::hdf5
