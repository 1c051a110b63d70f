// What a step that is added costs the views of a run, and what of them is written again.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "codec/checksum.hpp"
#include "manifest/reader.hpp"
#include "support/peak_memory.hpp"
#include "unit/plugins/hdf5/lines_of_run.hpp"

using namespace damaris;
using namespace damaris::test;
using Catch::Matchers::Contains;

namespace {

// Of `servers` each of which has `variables`; all of a step in one line.
std::string line_of_many(std::int64_t step, int servers, const std::vector<dc_variable_info_t>& variables) {
  manifest::StepEntry record;
  record.step = step;
  for (int server = 0; server < servers; ++server) {
    manifest::FileEntry& file = record.files.emplace_back();
    file.name = "storm.node7.s" + std::to_string(server) + ".i" + std::to_string(step) + ".h5";
    file.server = server;
    for (const dc_variable_info_t& variable : variables) {
      manifest::DatasetEntry& dataset = file.datasets.emplace_back();
      dataset.path = dataset.variable = variable.path;
      dataset.has_position = true;
      dataset.box = {1, {2 * server}, {2 * server + 2}};
    }
  }
  return manifest::to_json(record).dump() + "\n";
}

std::pair<std::uint64_t, std::uint64_t> identity_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return {info.st_ino, static_cast<std::uint64_t>(info.st_size)};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr char kEndOfXdmf[] = "</Xdmf>\n";

bool ends_well(const std::string& text) {
  const std::string end = kEndOfXdmf;
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Records views as the manifest does.
manifest::RecordView recorder(const LinesOfRun& run, std::vector<std::string>* names = nullptr) {
  return [&run, names](const manifest::ViewEntry& view, const std::function<void()>& put_in_place) {
    std::ofstream(run.record(), std::ios::app) << manifest::to_json(view).dump() << "\n";
    if (names != nullptr) names->push_back(view.name);
    put_in_place();
  };
}

}  // namespace

TEST_CASE("a step that is added costs its own view and that of its span, and none of the others is written again") {
  LinesOfRun run;
  each_look = seconds(0);
  std::vector<std::string> written;
  RunViews views(*run.host.view(), run.record(), look, recorder(run, &written));
  for (int step = 0; step < 66; ++step) run.add_step();
  update(views);
  written.clear();
  run.add_step();
  update(views);
  CHECK(written == std::vector<std::string>{".storm.step66.h5", ".storm.span1.h5", "storm.h5", "storm.xmf"});
  CHECK(run.shown() == 67);
  const ReadFile master(run.folder.file("storm.h5"));
  CHECK(master.values<std::int64_t>("iteration").back() == 66);
}

TEST_CASE("a step that is recorded late, before others, is shown in its place") {
  LinesOfRun run;
  each_look = seconds(0);
  RunViews views(*run.host.view(), run.record(), look, recorder(run));
  for (const std::int64_t step : {2, 4, 6}) std::ofstream(run.record(), std::ios::app) << line_of(step);
  update(views);
  std::ofstream(run.record(), std::ios::app) << line_of(3);
  update(views);
  const ReadFile master(run.folder.file("storm.h5"));
  CHECK(master.values<std::int64_t>("iteration") == std::vector<std::int64_t>{2, 3, 4, 6});
  const std::string xdmf = text_of(run.folder.file("storm.xmf"));
  CHECK(xdmf.find(".storm.step3.h5") > xdmf.find(".storm.step2.h5"));
  CHECK(xdmf.find(".storm.step3.h5") < xdmf.find(".storm.step4.h5"));
  CHECK(ends_well(xdmf));
}

TEST_CASE("views that are as recorded are not written again by a later process, one that is gone or another is") {
  LinesOfRun run;
  each_look = seconds(0);
  for (int step = 0; step < 3; ++step) run.add_step();
  RunViews(*run.host.view(), run.record(), look, recorder(run)).finish();
  std::filesystem::remove(run.folder.file(".storm.step1.h5"));
  std::filesystem::copy_file(run.folder.file(".storm.step0.h5"), run.folder.file(".storm.step2.h5"),
                             std::filesystem::copy_options::overwrite_existing);
  std::vector<std::string> written;
  RunViews(*run.host.view(), run.record(), look, recorder(run, &written)).finish();
  CHECK(written == std::vector<std::string>{".storm.step1.h5", ".storm.step2.h5", "storm.h5", "storm.xmf"});
}

TEST_CASE("a view of a step that Damaris has not written is left alone, and the log names it") {
  LinesOfRun run;
  each_look = seconds(0);
  run.folder.write(".storm.step0.h5", "mine");
  RunViews views(*run.host.view(), run.record(), look);
  run.add_step();
  update(views);
  REQUIRE(run.host.lines.size() == 1);
  CHECK_THAT(run.host.lines[0].second, Contains(".storm.step0.h5 is in the place of a view") && Contains("move it away"));
  CHECK(text_of(run.folder.file(".storm.step0.h5")) == "mine");
  std::filesystem::remove(run.folder.file(".storm.step0.h5"));
  views.finish();
  CHECK(run.shown() == 1);
}

TEST_CASE("a view that another process replaces at that moment is not taken for a file of another origin") {
  LinesOfRun run;
  each_look = seconds(0);
  run.add_step();
  RunViews(*run.host.view(), run.record(), look).finish();
  const std::string path = run.folder.file(".storm.step0.h5"), copy = run.folder.file("copy");
  const pid_t other = ::fork();
  if (other == 0)
    for (;;) {
      std::filesystem::copy_file(path, copy);
      std::filesystem::rename(copy, path);
    }
  int refused = 0;
  for (int tries = 0; tries < 2000; ++tries) try {
      hdf5::require_free(path);
    } catch (const Failure&) {
      ++refused;
    }
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  CHECK(refused == 0);
}

TEST_CASE("views of steps and spans that the manifest names no more are removed at the end, and only those of Damaris") {
  LinesOfRun run;
  each_look = seconds(0);
  for (int step = 0; step < 66; ++step) run.add_step();
  RunViews(*run.host.view(), run.record(), look, recorder(run)).finish();
  run.folder.write(".storm.step9.h5.bak", "mine");
  run.folder.write(".storm.step99.h5", "mine");
  std::filesystem::remove(run.record());
  run.steps = 0;
  run.add_step();
  RunViews(*run.host.view(), run.record(), look, recorder(run)).finish();
  CHECK(run.shown() == 1);
  for (const char* gone : {".storm.step1.h5", ".storm.step65.h5", ".storm.span1.h5"})
    CHECK_FALSE(std::filesystem::exists(run.folder.file(gone)));
  for (const char* kept : {".storm.step0.h5", ".storm.span0.h5", ".storm.step9.h5.bak", ".storm.step99.h5"})
    CHECK(std::filesystem::exists(run.folder.file(kept)));
}

TEST_CASE("the XDMF file grows in place, and its bytes are those that were recorded") {
  LinesOfRun run;
  each_look = seconds(0);
  std::uint32_t checksum = 0;
  std::uint64_t bytes = 0;
  const auto note = [&](const manifest::ViewEntry& view, const std::function<void()>& put_in_place) {
    if (view.name == "storm.xmf") std::tie(checksum, bytes) = std::pair(view.checksum, view.bytes);
    put_in_place();
  };
  RunViews views(*run.host.view(), run.record(), look, note);
  run.add_step();
  update(views);
  const std::string path = run.folder.file("storm.xmf"), before = text_of(path);
  const auto [file, size] = identity_of(path);
  run.add_step();
  update(views);
  const std::string now = text_of(path);
  CHECK(identity_of(path).first == file);
  CHECK(now.find(".storm.step1.h5") != std::string::npos);
  CHECK(ends_well(now));
  CHECK(now.compare(0, size - 40, before, 0, size - 40) == 0);  // all but the closing tags
  CHECK(bytes == now.size());
  CHECK(checksum == codec::crc32(now.data(), now.size()));
}

TEST_CASE("an XDMF file that another process has replaced, or that lost its end, is written anew") {
  LinesOfRun run;
  each_look = seconds(0);
  RunViews views(*run.host.view(), run.record(), look);
  run.add_step();
  update(views);
  const std::string path = run.folder.file("storm.xmf");
  if (GENERATE(true, false)) {
    std::filesystem::resize_file(path, 500);
  } else {
    run.folder.write("other", "<Xdmf><Domain Name=\"Damaris\">");
    std::filesystem::rename(run.folder.file("other"), path);
  }
  run.add_step();
  if (GENERATE(true, false))
    update(views);
  else
    RunViews(*run.host.view(), run.record(), look).finish();
  const std::string text = text_of(path);
  CHECK(ends_well(text));
  CHECK(text.find(".storm.step0.h5") < text.find(".storm.step1.h5"));
}

namespace {

// Adds a step to three and shows it, in a process that ends at its view number `view`: before or after that is in place.
void be_killed_at(const LinesOfRun& run, int view, bool before) {
  const pid_t child = ::fork();
  if (child == 0) {
    int next = 0;
    const manifest::RecordView record = recorder(run);
    RunViews views(*run.host.view(), run.record(), look, [&](const manifest::ViewEntry& entry, const std::function<void()>& put) {
      record(entry, [&] {
        const bool ends = next++ == view;
        if (ends && before) ::_exit(0);
        put();
        if (ends) ::_exit(0);
      });
    });
    views.finish();
    std::ofstream(run.record(), std::ios::app) << line_of(3);
    update(views);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

}  // namespace

TEST_CASE("a process that is killed at any view leaves what the next one completes, and all views are then as recorded") {
  constexpr int kViews = 10;  // three steps, their span, the master and XDMF; then step, span, master and XDMF once more
  for (int view = 0; view < kViews; ++view)
    for (const bool before : {true, false}) {
      INFO("view " << view << (before ? ", before" : ", after"));
      LinesOfRun run;
      each_look = seconds(0);
      for (int step = 0; step < 3; ++step) run.add_step();
      be_killed_at(run, view, before);
      const std::size_t steps = view < 6 ? 3 : 4;
      RunViews(*run.host.view(), run.record(), look, recorder(run)).finish();
      CHECK(run.shown() == steps);
      manifest::Reader reader(run.record());
      reader.read_on();
      CHECK(reader.views().size() == steps + 3);
      for (const auto& [name, state] : reader.views()) {
        const std::string text = text_of(run.folder.file(name));
        INFO(name);
        CHECK(codec::crc32(text.data(), text.size()) == state.newest.checksum);
      }
    }
}

// In processes of their own: what others took before does not count.
TEST_CASE("the memory of the views does not grow with the steps of the run") {
  if (!kMemoryIsOurs) {
    WARN("skipped: a sanitizer takes memory of its own");
    return;
  }
  constexpr int kServers = 200;
  const auto taken = [](int steps) {
    LinesOfRun run;
    each_look = seconds(0);
    for (int step = 0; step < steps; ++step)
      std::ofstream(run.record(), std::ios::app) << line_of_many(step, kServers, run.variables);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const std::uint64_t before = peak_bytes();
      RunViews(*run.host.view(), run.record(), look).finish();
      const std::uint64_t bytes = peak_bytes() - before;
      ::_exit(::write(ends[1], &bytes, sizeof(bytes)) == sizeof(bytes) ? 0 : 1);
    }
    std::uint64_t bytes = 0;
    REQUIRE(::read(ends[0], &bytes, sizeof(bytes)) == sizeof(bytes));
    ::close(ends[0]);
    ::close(ends[1]);
    ::waitpid(child, nullptr, 0);
    CHECK(run.shown() == static_cast<std::size_t>(steps));
    return bytes;
  };
  const std::uint64_t few = taken(10), many = taken(200);
  INFO(few << " and " << many << " bytes");
  CHECK(few > 0);
  CHECK(many < few + (std::uint64_t{4} << 20));  // all parts of the other steps would be 40000 times some hundred bytes
}
