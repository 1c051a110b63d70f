// The picture: rasters, axes and lines. A view has begin and end in ns, first and last in rows, all fractional.
'use strict';

class Drawing {
  constructor(about) {
    this.about = about;
    this.canvas = document.getElementById('canvas');
    this.context = this.canvas.getContext('2d');
    this.raster = null;  // { image, begin, end, first, last } of what has come last
    this.lines = { messages: [], collectives: [] };
    this.shades = Drawing.shadesOf(about.colors.map((color) => d3.rgb(color)));
    this.hatch = this.hatched();
    this.labels = about.rows.map((name, row) => Drawing.shortened(name) + (about.killed.includes(row) ? ' †' : ''));
    this.margin = this.marginOf(this.labels);
    this.measure();
  }

  // What stands for lost calls: no layer's colour, and another pattern for those who cannot tell colours.
  hatched() {
    const tile = Object.assign(document.createElement('canvas'), { width: 6, height: 6 }), context = tile.getContext('2d');
    context.fillStyle = '#fff';
    context.fillRect(0, 0, 6, 6);
    context.strokeStyle = '#c00018';
    context.lineWidth = 2;
    context.beginPath();
    for (const from of [-6, 0, 6]) { context.moveTo(from - 1, 7); context.lineTo(from + 7, -1); }
    context.stroke();
    return tile;
  }

  // With its begin and its end, which tell rows apart.
  static shortened(name, most = 40) { return name.length > most ? `${name.slice(0, most - 20)}…${name.slice(-19)}` : name; }

  // So that the longest label has room.
  marginOf(labels) {
    const longest = labels.reduce((one, other) => other.length > one.length ? other : one, '');
    this.context.font = '11px system-ui, sans-serif';
    const margin = Math.max(92, Math.ceil(this.context.measureText(longest).width * 1.05) + 12);
    document.getElementById('timeline').style.setProperty('--names', `${margin}px`);
    return margin;
  }

  // When the size has changed: a question between two changes of the page lays it out anew, which costs more than a frame has.
  measure() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
  }

  // Of each layer + 1 and share, a pixel as ImageData has it; of no layer a clear one.
  static shadesOf(colors) {
    const bytes = new Uint8ClampedArray(4 * 256 * (colors.length + 1));
    colors.forEach(({ r, g, b }, layer) => {
      for (let share = 0; share < 256; ++share) bytes.set([r, g, b, 70 + 185 * share / 255], 4 * (256 * (layer + 1) + share));
    });
    return new Uint32Array(bytes.buffer);
  }

  // bytes: two a pixel: layer + 1, and its share.
  show(window, width, bytes) {
    const rows = bytes.length / 2 / width;
    if (!rows) return;
    const image = document.createElement('canvas');
    image.width = width;
    image.height = rows;
    const pixels = new ImageData(width, rows), values = new Uint32Array(pixels.data.buffer), { shades } = this;
    for (let i = 0; i < values.length; ++i) values[i] = shades[256 * bytes[2 * i] + bytes[2 * i + 1]];
    image.getContext('2d').putImageData(pixels, 0, 0);
    this.raster = { ...window, image };
  }

  x(view, time) { return (time - view.begin) / (view.end - view.begin) * this.width; }
  y(view, row) { return (row - view.first) / (view.last - view.first) * this.height; }

  draw(view) {
    const { canvas, context, raster } = this, scale = devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    if (raster) {
      const [left, top] = [this.x(view, raster.begin), this.y(view, raster.first)];
      context.drawImage(raster.image, left, top, this.x(view, raster.end) - left, this.y(view, raster.last) - top);
    }
    this.drawLost(view);
    this.drawEdges(view);
    this.drawLines(view);
    this.drawTimes(view);
    this.drawNames(view);
  }

  // At least so wide that it is seen.
  drawLost(view) {
    this.context.fillStyle = this.context.createPattern(this.hatch, 'repeat');
    for (const [begin, end, row] of this.about.lost) {
      if (end < view.begin || begin > view.end || row + 1 < view.first || row > view.last) continue;
      const left = this.x(view, begin), width = Math.max(this.x(view, end) - left, 3), top = this.y(view, row);
      this.context.fillRect(left, top, width, this.y(view, row + 1) - top);
    }
  }

  // Between rows, where they are high enough.
  drawEdges(view) {
    if (this.height / (view.last - view.first) < 6) return;
    this.context.fillStyle = getComputedStyle(document.body).backgroundColor;
    for (let row = Math.ceil(view.first); row < view.last; ++row) this.context.fillRect(0, this.y(view, row) - 1, this.width, 2);
  }

  drawLines(view) {
    const { context } = this, half = 0.5, dark = matchMedia('(prefers-color-scheme: dark)').matches;
    context.lineWidth = 1;
    context.strokeStyle = dark ? 'rgba(255,255,255,.55)' : 'rgba(0,0,0,.5)';
    context.beginPath();
    for (const [sent, from, received, to] of this.lines.messages) {
      context.moveTo(this.x(view, sent), this.y(view, from + half));
      context.lineTo(this.x(view, received), this.y(view, to + half));
    }
    context.stroke();
    context.setLineDash([4, 3]);
    context.beginPath();
    for (const members of this.lines.collectives)
      members.forEach(([time, row], i) => context[i ? 'lineTo' : 'moveTo'](this.x(view, time), this.y(view, row + half)));
    context.stroke();
    context.setLineDash([]);
  }

  drawTimes(view) {
    const unit = view.end - view.begin > 1e9 ? [1e9, 's'] : view.end - view.begin > 2e6 ? [1e6, 'ms'] : [1e3, 'µs'];
    const scale = d3.scaleLinear([view.begin / unit[0], view.end / unit[0]], [0, this.width]);
    const svg = d3.select('#times');
    const axis = svg.selectAll('g').data([0]).join('g').attr('transform', 'translate(0,26)');
    axis.call(d3.axisTop(scale).ticks(Math.max(2, this.width / 110)).tickFormat((t) => `${d3.format(',')(+t.toFixed(9))} ${unit[1]}`));
  }

  drawNames(view) {
    const room = this.height / (view.last - view.first), step = Math.max(1, Math.ceil(14 / room));
    const rows = d3.range(Math.max(0, Math.floor(view.first)), Math.min(this.about.rows.length, Math.ceil(view.last)))
      .filter((row) => row % step === 0);
    d3.select('#names').selectAll('text').data(rows).join('text').attr('x', this.margin - 6).attr('text-anchor', 'end')
      .attr('y', (row) => this.y(view, row + Math.min(step, 1) / 2) + 4)
      .text((row) => this.labels[row]);
  }
}

// Fills `place` with an answer: columns and rows, an error, a picture.
function tabulate(place, answer) {
  place = d3.select(place).html('');
  if (answer.error) { place.append('p').attr('class', 'error').text(answer.error); return; }
  if (answer.picture) place.append('img').attr('src', answer.picture).attr('alt', 'Picture of the answer; its numbers are in the table below.');
  if (!answer.rows.length) { place.append('p').attr('class', 'hint').text('Nothing is like that.'); return; }
  const table = place.append('table');
  table.append('thead').append('tr').selectAll('th').data(answer.columns).join('th').attr('scope', 'col').text((name) => name);
  table.append('tbody').selectAll('tr').data(answer.rows).join('tr').selectAll('td').data((row) => row).join('td')
    .attr('class', (value) => typeof value === 'number' ? 'number' : null)
    .text((value) => typeof value === 'number' ? (Number.isInteger(value) ? d3.format(',')(value) : d3.format('.6~g')(value)) : value ?? '');
  if (answer.more) place.append('p').attr('class', 'hint').text('More rows are left out; damaris query gives all.');
}

function duration(ns) {
  const [value, unit] = ns >= 1e9 ? [ns / 1e9, 's'] : ns >= 1e6 ? [ns / 1e6, 'ms'] : ns >= 1e3 ? [ns / 1e3, 'µs'] : [ns, 'ns'];
  return `${d3.format('.4~g')(value)} ${unit}`;
}
