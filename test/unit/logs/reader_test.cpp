#include "log_folder.hpp"

namespace damaris::test {
namespace {

using logs::Reader;

void write_log(const LogFolder& log) {
  logs::Writer writer(log.settings());
  const std::string a = "aaaa", b = "bbbb", c = "cccc";
  writer.store({append_of(0, 0, a), append_of(2, 4, b)});
  writer.store({append_of(0, 12, c)});
  writer.finish();
}

// Changes one byte of a file.
void flip(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

TEST_CASE("streams, holes and the end of a log are found by its run's basename, manifest or folder") {
  LogFolder log;
  write_log(log);
  for (const std::string& run : {log.run(), log.run() + ".jsonl", log.folder().path().string()}) {
    const std::vector<Reader> found = Reader::find(run, "events");
    REQUIRE(found.size() == 1);
    CHECK(found[0].streams().size() == 2);
    REQUIRE(found[0].holes().size() == 1);
    CHECK(found[0].holes()[0].place.offset == 8);
    CHECK(found[0].holes()[0].place.bytes == 4);
    CHECK(found[0].index().ended());
    CHECK(found[0].damages().empty());
  }
  CHECK(log.bytes_of(0) == "aaaacccc");
}

TEST_CASE("a run without the log is said, with the logs that it has") {
  LogFolder log;
  CHECK_THAT(error_of([&] { Reader::find(log.run()); }).sentence(), Catch::Contains("has no stream log"));
  write_log(log);
  CHECK_THAT(error_of([&] { Reader::find(log.run(), "other"); }).sentence(), Catch::Contains("'other'; there is 'events'"));
}

TEST_CASE("bytes that were changed or cut are named and never read as data") {
  LogFolder log;
  write_log(log);
  flip(log.data(0), 13);
  const Reader reader(log.index());
  REQUIRE(reader.damages().size() == 1);
  CHECK_THAT(reader.damages()[0], Catch::Contains("stream 0 at 12 are damaged"));
  std::string before;
  CHECK(error_of([&] { reader.read(0, [&](std::string_view bytes) { before += bytes; }); }).code() == DC_E_IO);
  CHECK(before == "aaaa");
  std::filesystem::resize_file(log.data(0), 10);
  CHECK_THAT(reader.damages()[0], Catch::Contains("are missing"));
  std::filesystem::remove(log.data(0));
  CHECK_THAT(reader.damages()[0], Catch::Contains("cannot be read"));
}

TEST_CASE("an index that is cut keeps its whole entries, and a damaged entry in its middle is counted") {
  LogFolder log;
  write_log(log);
  const auto whole = std::filesystem::file_size(log.index());
  std::filesystem::resize_file(log.index(), whole - sizeof(logs::IndexEntry) - 20);
  CHECK(log.bytes_of(0) == "aaaa");
  CHECK(log.bytes_of(2) == "bbbb");
  CHECK_FALSE(Reader(log.index()).index().ended());
  flip(log.index(), sizeof(logs::IndexHeader) + sizeof(logs::IndexEntry) + 9);
  CHECK(Reader(log.index()).index().damaged == 1);
  CHECK_THAT(Reader(log.index()).damages()[0], Catch::Contains("1 entries do not match"));
  flip(log.index(), 12);
  CHECK_THAT(error_of([&] { Reader reader(log.index()); }).sentence(), Catch::Contains("header does not match"));
  std::filesystem::resize_file(log.index(), 100);
  CHECK(Reader(log.index()).streams().empty());
}

}  // namespace
}  // namespace damaris::test
