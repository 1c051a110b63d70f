// Lines that a thread writes, to a destination that may hang.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>

#include "core/base/log_queue.hpp"

namespace damaris::test {
namespace {

struct Written {
  std::promise<void> opened, closed;
  std::shared_future<void> gate = opened.get_future().share();
  std::string text;
};

// Each line waits for the gate.
class GatedTarget final : public LogTarget {
 public:
  explicit GatedTarget(std::shared_ptr<Written> written) : written_(std::move(written)) {}
  void write(std::string_view line) override {
    written_->gate.wait();
    written_->text.append(line);
  }

 private:
  std::shared_ptr<Written> written_;
};

// Its end waits for the gate.
class UnclosableTarget final : public LogTarget {
 public:
  explicit UnclosableTarget(std::shared_ptr<Written> written) : written_(std::move(written)) {}
  ~UnclosableTarget() override {
    written_->gate.wait();
    written_->text.append("closed\n");
    written_->closed.set_value();
  }
  void write(std::string_view line) override { written_->text.append(line); }

 private:
  std::shared_ptr<Written> written_;
};

}  // namespace

TEST_CASE("a log whose disk hangs stops no writer: 1 MiB of lines is kept in order, and the number of the lost ones is written",
          "[unpromised]") {
  const auto written = std::make_shared<Written>();
  std::unique_ptr<LogTarget> target = std::make_unique<GatedTarget>(written);
  LogQueue queue(target, 0);
  CHECK(target == nullptr);
  queue.write("first\n");
  const std::string long_line = std::string((256 << 10) - 1, 'x') + "\n";
  for (int line = 0; line < 9; ++line) queue.write(long_line);
  CHECK(!queue.flush(1));
  written->opened.set_value();
}

TEST_CASE("once its disk goes on, a log holds every line that was kept and says how many are missing", "[unpromised]") {
  const auto written = std::make_shared<Written>();
  std::unique_ptr<LogTarget> target = std::make_unique<GatedTarget>(written);
  {
    LogQueue queue(target, 0);
    const std::string long_line = std::string((512 << 10) - 1, 'x') + "\n";
    for (int line = 0; line < 9; ++line) queue.write(long_line);
    written->opened.set_value();
    CHECK(queue.flush(10'000));
  }
  const std::string& text = written->text;
  const std::size_t kept = text.size() / (512 << 10);
  CHECK(kept >= 2);
  CHECK(kept <= 4);  // two of them taken by the thread at most
  CHECK(text.find(std::to_string(9 - kept) + " lines of the log are missing here") != std::string::npos);
}

TEST_CASE(
    "a line that is waited for is written when the call returns; one that the disk does not take in time ends the waits until it "
    "has",
    "[unpromised]") {
  const auto written = std::make_shared<Written>();
  std::unique_ptr<LogTarget> target = std::make_unique<GatedTarget>(written);
  LogQueue queue(target, 1);
  for (int line = 0; line < 100'000; ++line) queue.write("late\n");  // 100 s if each were waited for
  written->opened.set_value();
  CHECK(queue.flush(60'000));
  queue.set_wait(60'000);
  queue.write("in time\n");
  CHECK(written->text.substr(written->text.size() - 8) == "in time\n");
}

TEST_CASE("the end of a log does not wait for a file that cannot be closed; its thread closes it as soon as the disk answers",
          "[unpromised]") {
  const auto written = std::make_shared<Written>();
  {
    std::unique_ptr<LogTarget> target = std::make_unique<UnclosableTarget>(written);
    LogQueue queue(target, 0);
    queue.write("line\n");
  }
  written->opened.set_value();
  REQUIRE(written->closed.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  CHECK(written->text == "line\nclosed\n");
}

TEST_CASE("the end of a log whose disk answers has closed the file") {
  const auto written = std::make_shared<Written>();
  written->opened.set_value();
  {
    std::unique_ptr<LogTarget> target = std::make_unique<UnclosableTarget>(written);
    const LogQueue queue(target, 0);
  }
  CHECK(written->text == "closed\n");
}

TEST_CASE("a fork, which has no thread that writes, writes its lines itself") {
  const auto written = std::make_shared<Written>();
  written->opened.set_value();
  std::unique_ptr<LogTarget> target = std::make_unique<GatedTarget>(written);
  LogQueue queue(target, 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    queue.write("of the child\n");
    const bool is_written = written->text == "of the child\n";
    ::_exit(is_written && queue.flush(1000) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(queue.flush(10'000));
}

}  // namespace damaris::test
