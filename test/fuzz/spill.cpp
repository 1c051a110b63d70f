// The spill file that recovery adopts, as a crash, a full disk or another hand may have left it, beside a sound region that counts what had
// been spilled. What is visited lies in the file, and every block that the region counts is stored, or reported as missing.
#include <damaris/error.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "config/config.hpp"
#include "core/shm/arena.hpp"
#include "fuzz.hpp"
#include "server/make_region.hpp"
#include "server/server.hpp"

using namespace damaris;
using fuzz::Input;
using fuzz::require;

namespace {

constexpr char kXml[] = R"(<simulation name="fuzz">
  <architecture><buffer size="64KiB" on-full="spill" spill="."/><lanes events="16"/></architecture>
  <data>
    <layout name="four" type="int" dimensions="4"/>
    <layout name="tile" type="real" dimensions="2,3" global="4,3" ghost="0:0,1:1"/>
    <layout name="large" type="int" dimensions="1500"/>
    <variable name="small" layout="four"/>
    <variable name="tile" layout="tile"/>
    <variable name="large" layout="large"/>
  </data>
  <actions><plugin name="fuzz" using=")" FUZZ_PLUGIN R"("/></actions>
</simulation>)";

const std::string path = std::filesystem::absolute("fuzz.spill").string();

using Key = std::tuple<std::int64_t, std::uint32_t, std::int32_t, std::int32_t>;  // step, variable, source, block
std::multiset<Key> arrived;
std::uint64_t sum;

void take_step(const dc_step_t* step) {
  for (std::size_t i = 0; i < step->dataset_count; ++i) {
    const dc_dataset_t& dataset = step->datasets[i];
    for (std::uint64_t at = 0; at < dataset.bytes; ++at) sum += static_cast<const unsigned char*>(dataset.data)[at];
    arrived.insert({dataset.step, dataset.variable->id, dataset.source, dataset.block});
  }
}

std::shared_ptr<const model::Model> make_model() {
  void* plugin = ::dlopen(FUZZ_PLUGIN, RTLD_NOW);
  require(plugin != nullptr, "the plugin loads", plugin == nullptr ? ::dlerror() : "");
  *static_cast<void (**)(const dc_step_t*)>(::dlsym(plugin, "fuzz_step")) = take_step;
  return std::make_shared<const model::Model>(config::parse(kXml, "/fuzz.xml"));
}

// A manifest as the server writes it, mostly with nothing or with one field wrong.
std::string record(Input& input) {
  shm::LongHeader long_header;
  shm::BlockHeader& header = long_header.get();
  header.magic = shm::kBlockMagic;
  const std::uint8_t state = input.take<std::uint8_t>();
  header.state.store(state < 200 ? static_cast<std::uint32_t>(shm::BlockState::published) : state % 8);
  header.variable = static_cast<std::uint32_t>(input.below(3));
  constexpr std::uint64_t kBytes[] = {16, 24, 6000};
  header.data_bytes = kBytes[header.variable];
  header.step = static_cast<std::int64_t>(input.below(4));
  header.source = static_cast<std::int32_t>(7 + input.below(2));
  header.block = static_cast<std::int32_t>(input.below(4));
  header.ndims = header.variable == 1 ? 2 : 1;
  header.flags = input.take<std::uint8_t>() % 16;
  const shm::Lists lists(header, {header.ndims, header.flags});
  lists.extents()[0] = header.variable == 0 ? 4 : header.variable == 1 ? 2 : 1500;
  if (header.ndims == 2) lists.extents()[1] = 3;
  const std::uint64_t pages = shm::round_up(sizeof long_header + header.data_bytes, shm::kPage);
  header.size_bytes.store(pages);
  const std::uint8_t field = input.take<std::uint8_t>();
  if (field == 1) header.data_bytes = input.take<std::uint64_t>();
  if (field == 2) header.step = input.take<std::int64_t>();
  if (field == 3) header.source = input.take<std::int32_t>();
  if (field == 4) header.block = input.take<std::int32_t>();
  if (field == 5) header.variable = input.take<std::uint32_t>();
  if (field == 6) lists.extents()[0] = input.take<std::int64_t>();
  if (field == 7) lists.position()[0] = input.take<std::int64_t>();
  if (field == 8) lists.global()[0] = input.take<std::int64_t>();
  if (field == 9) lists.ghost_low()[0] = input.take<std::uint32_t>();
  if (field == 10) header.ndims = input.take<std::uint8_t>();
  if (field == 11) header.data_bytes = input.take<std::uint16_t>();
  std::string bytes(pages, '\0');
  std::memcpy(bytes.data(), long_header.bytes, sizeof long_header);
  const char value = input.take<char>();
  std::fill(bytes.begin() + sizeof long_header, bytes.end(), value);
  return bytes;
}

// Records, holes, pages of anything, changes anywhere; in the end it may be cut.
std::string make_file(Input& input) {
  std::string file;
  const std::size_t cut = input.take<std::uint8_t>() < 32 ? input.take<std::uint16_t>() : 0;
  for (int parts = 0; parts < 16 && !input.empty(); ++parts) {
    const std::size_t kind = input.below(8);
    if (kind < 5) {
      file += record(input);
    } else if (kind == 5) {
      file.append(input.below(4) * shm::kPage, '\0');
    } else if (kind == 6) {
      file += input.take_bytes(input.below(64));
    } else if (!file.empty()) {
      const std::size_t place = input.take<std::uint32_t>() % file.size();
      const std::string_view bytes = input.take_bytes(1 + input.below(16));
      file.replace(place, std::min(bytes.size(), file.size() - place), bytes.substr(0, file.size() - place));
    }
  }
  file.resize(file.size() - std::min(cut, file.size()));
  return file;
}

// With the pages that are empty as holes.
void write_file(const std::string& file) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(file.size())) == 0, "a file can be made");
  for (std::size_t at = 0; at < file.size(); at += shm::kPage) {
    const std::string page = file.substr(at, shm::kPage);
    if (page.find_first_not_of('\0') == std::string::npos) continue;
    require(::pwrite(descriptor, page.data(), page.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(page.size()),
            "it can be written");
  }
  ::close(descriptor);
}

// Of a server that has died: it had stored all up to `settled`, and counted so many blocks in its spill file.
std::shared_ptr<shm::Region> make_region(const model::Model& model, std::uint64_t spilled, std::int64_t settled) {
  auto region = server::make_region(model, kXml, 2, {});
  std::memset(region->header().spill, 0, sizeof region->header().spill);
  path.copy(region->header().spill, sizeof region->header().spill - 1);
  region->header().spilled_blocks.store(spilled);
  region->header().last_processed.store(settled);
  for (std::uint32_t client = 0; client < 2; ++client) {
    const shm::LaneSpan& span = region->span(client);
    shm::Arena(region->at(span.arena_offset), span.arena_bytes, region->lane(client));
    region->slot(client).id.store(static_cast<std::int32_t>(7 + client));
    region->slot(client).state.store(static_cast<std::uint32_t>(shm::SlotState::attached));
  }
  return region;
}

// What is to be found, computed a second time and page by page.
struct Found {
  std::vector<std::size_t> records;  // that are published: where they begin
  std::uint64_t sound = 0;           // of them, what a server would have taken
  std::set<Key> keys;                // of these, newer than what is settled
};

Found find_records(const std::string& file, const server::VariableInfos& infos, std::int64_t settled) {
  Found found;
  for (std::size_t at = 0; at + shm::kPage <= file.size();) {
    shm::LongHeader copy;
    std::memcpy(copy.bytes, file.data() + at, sizeof copy);
    const shm::BlockHeader& header = copy.get();
    const std::size_t room = file.size() - at;
    const bool whole = header.magic == shm::kBlockMagic && header.data_bytes <= room &&
                       shm::round_up(sizeof copy + header.data_bytes, shm::kPage) <= room;
    if (whole && header.state.load() == static_cast<std::uint32_t>(shm::BlockState::published)) {
      found.records.push_back(at);
      const bool sound = server::check_spilled(header, {at, room, copy.bytes}, infos).fault.empty();
      found.sound += sound ? 1 : 0;
      if (sound && header.step > settled) found.keys.insert({header.step, header.variable, header.source, header.block});
    }
    at += whole ? shm::round_up(sizeof copy + header.data_bytes, shm::kPage) : shm::kPage;
  }
  return found;
}

bool exists() { return ::access(path.c_str(), F_OK) == 0; }

// The walk alone: each record once, in order and whole, with the bytes of the file.
void adopt_file(const std::string& file, const Found& found, const model::Model& model, std::uint64_t spilled,
                std::uint8_t refusals) {
  const auto region = make_region(model, spilled, shm::kNoStep);
  std::vector<server::SpilledBlock> kept;
  std::size_t visited = 0, refused = 0;
  server::Spill spill(*region, 1 << 30);
  spill.keep();
  spill.adopt([&](const shm::BlockHeader& header, const server::SpilledBlock& block) {
    require(visited < found.records.size() && block.offset == found.records[visited], "each record is visited once, in order");
    require(block.offset % shm::kPage == 0 && block.bytes % shm::kPage == 0 && block.bytes <= file.size() - block.offset,
            "what is visited lies in the file");
    require(header.data_bytes + shm::kLongestHeader <= block.bytes, "the data lie in their record");
    require(std::memcmp(static_cast<const void*>(&header), file.data() + block.offset, shm::kLongestHeader) == 0,
            "the header is the file's");
    require(std::memcmp(block.record, file.data() + block.offset, block.bytes) == 0, "the data are the file's");
    if ((refusals >> visited++ % 8 & 1) != 0) return ++refused, server::Spill::Verdict::damaged;
    kept.push_back(block);
    return server::Spill::Verdict::kept;
  });
  require(visited == found.records.size(), "every record is visited");
  const std::uint64_t missing = std::max<std::uint64_t>(refused, spilled - std::min<std::uint64_t>(spilled, kept.size()));
  require(spill.missing() == missing, "what the region counts and is not there is missing");
  require(region->header().spilled_blocks.load() == kept.size() + missing, "the region counts what is there and what is missing");
  for (const server::SpilledBlock& block : kept) spill.release(block);
  spill.forget_missing();
  require(region->header().spilled_blocks.load() == 0, "all that is released or given up is counted no more");
  spill.end();
  require(!exists(), "the file goes when it holds nothing");
}

// A server that adopts it stores what is sound and new, once, and starts only when nothing is missing, or with that given up.
void recover(const Found& found, const std::shared_ptr<const model::Model>& model, std::uint64_t spilled, std::int64_t settled) {
  const auto region = make_region(*model, spilled, settled);
  const std::uint64_t damaged = found.records.size() - found.sound;
  const std::uint64_t missing = std::max(damaged, spilled - std::min(spilled, found.sound));
  for (const bool gives_up : {false, true}) {
    server::Server server(model, region, std::make_unique<server::SingleCoordinator>(), {});
    try {
      server.adopt(gives_up);
    } catch (const Error& error) {
      require(missing > 0 && !gives_up && error.code() == DC_E_NO_OUTPUT, "what is missing is refused once", error.sentence());
      continue;
    }
    require(missing == 0 || gives_up, "what is missing is not passed over");
    require(server.adoption()->given_up() == (gives_up ? missing : 0), "what is given up is counted");
    server.run();
    break;
  }
  require(std::set<Key>(arrived.begin(), arrived.end()) == found.keys, "what is sound and new is stored");
  require(arrived.size() == found.keys.size(), "a dataset is stored once");
  require(region->unreleased_blocks() == 0, "nothing is left in the region");
  require(!exists(), "the file goes");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::atexit([] { ::unlink(path.c_str()); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::shared_ptr<const model::Model> model = make_model();
  static const server::VariableInfos infos(*model);
  arrived.clear();
  Input input(data, size);
  const std::uint8_t count = input.take<std::uint8_t>();
  const std::uint64_t spilled = count < 250 ? count % 16 : input.take<std::uint64_t>();
  const std::int64_t settled = static_cast<std::int64_t>(input.below(4)) - 1;
  const std::uint8_t refusals = input.take<std::uint8_t>();
  const bool has_file = input.take<std::uint8_t>() < 240;
  const std::string file = make_file(input);
  write_file(file);
  if (!has_file) ::unlink(path.c_str());
  const std::string there = has_file ? file : "";
  adopt_file(there, find_records(there, infos, shm::kNoStep), *model, spilled, refusals);
  if (has_file) write_file(file);
  recover(find_records(there, infos, settled), model, spilled, settled);
  return 0;
}
