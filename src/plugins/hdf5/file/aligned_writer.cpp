#include "aligned_writer.hpp"

#include <utility>

#include "codec/checksum.hpp"

namespace damaris::hdf5 {

void AlignedWriter::add(const std::byte* data, std::size_t size, std::uint32_t checksum) {
  if (data != data_ + size_) flush();
  const bool reaches = size >= room();
  if (size_ == 0) data_ = data;
  checksum_ = size_ == 0 ? checksum : codec::crc32_joined(checksum_, checksum, size);
  size_ += size;
  end_ += size;
  if (reaches) flush();
}

void AlignedWriter::flush() {
  const std::size_t size = std::exchange(size_, 0);
  if (size > 0) target_.write(end_ - size, data_, size, checksum_);
}

}  // namespace damaris::hdf5
