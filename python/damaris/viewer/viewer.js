// What a person does: moves, zooms, points, selects, asks. `source` answers: the server, or what the page holds itself.
'use strict';

class Server {
  constructor() { this.pending = {}; }
  // Of two requests of one kind only the later counts.
  async get(kind, values = {}) {
    this.pending[kind]?.abort();
    const { signal } = this.pending[kind] = new AbortController();
    const response = await fetch(`/api/${kind}?${new URLSearchParams(values)}`, { signal });
    if (!response.ok) throw new Error(await response.text());
    return response;
  }
  async json(kind, values) { return (await this.get(kind, values)).json(); }
  async raster(window, width) { return new Uint8Array(await (await this.get('raster', { ...window, width })).arrayBuffer()); }
}

const WAIT_MS = 25;  // for the next turn of a wheel, which would make this picture needless

class Viewer {
  constructor(source, about) {
    this.source = source;
    this.about = about;
    this.drawing = new Drawing(about);
    this.all = { begin: 0, end: about.duration, first: 0, last: Math.max(1, about.rows.length) };
    this.view = this.fromAddress() || { ...this.all };
    document.getElementById('program').textContent = about.program;
    const signs = [...about.layers.map((name, i) => [name, about.colors[i]]), ['calls are missing', this.drawing.hatch.toDataURL()]];
    d3.select('#legend').selectAll('li').data(signs).join('li').html(([, sign]) => `<span style="background:${sign[0] === '#' ? sign : `url(${sign})`}"></span>`)
      .append('b').style('font-weight', 400).text(([name]) => name);
    this.listen();
    this.changed();
    this.offerFindings();
    this.say(about.losses.length ? `Not whole: ${about.losses.join('; ')}.` : '');
  }

  say(words) { document.getElementById('state').textContent = words; }

  fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1)), found = {};
    for (const key of ['begin', 'end', 'first', 'last']) found[key] = given.has(key) ? Number(given.get(key)) : NaN;
    return found.begin < found.end && found.first < found.last ? this.within(found) : null;
  }

  // Not beyond what there is, and not so near that rounding shows.
  within(view) {
    const { all } = this, least = 100;
    const fit = (low, high, from, to, room) => {
      const size = Math.min(Math.max(high - low, room), to - from), begin = Math.min(Math.max(low, from), to - size);
      return [begin, begin + size];
    };
    const [begin, end] = fit(view.begin, view.end, all.begin, all.end, least), [first, last] = fit(view.first, view.last, all.first, all.last, 1);
    return { begin, end, first, last };
  }

  go(view) {
    this.view = this.within(view);
    this.changed();
  }

  changed() {
    requestAnimationFrame(() => this.drawing.draw(this.view));
    clearTimeout(this.later);
    this.later = setTimeout(() => this.load(), WAIT_MS);
  }

  async load() {
    const { view } = this, window = { begin: view.begin, end: view.end, first: Math.floor(view.first), last: Math.ceil(view.last) };
    const most = Math.floor(this.about.pixels / (window.last - window.first));  // of many rows a coarser picture
    const width = Math.max(1, Math.min(Math.round(this.drawing.width * Math.min(devicePixelRatio || 1, 2)), most));
    const values = new URLSearchParams(Object.entries(view).map(([key, value]) => [key, String(+value.toFixed(3))]));
    history.replaceState(null, '', `#${values}`);
    try {
      this.drawing.show(window, width, await this.source.raster(window, width));
      this.drawing.draw(this.view);
      this.drawing.lines = await this.source.json('lines', window);
      this.drawing.draw(this.view);
      document.body.dataset.drawn = location.hash;
      document.body.dispatchEvent(new Event('drawn'));
    } catch (error) {
      if (error.name !== 'AbortError') this.say(`The picture did not come: ${error.message}`);
    }
  }

  zoom(factor, at = 0.5) {
    const { begin, end, first, last } = this.view, pivot = begin + at * (end - begin);
    this.go({ begin: pivot - (pivot - begin) * factor, end: pivot + (end - pivot) * factor, first, last });
  }
  zoomRows(factor, at = 0.5) {
    const { begin, end, first, last } = this.view, pivot = first + at * (last - first);
    this.go({ begin, end, first: pivot - (pivot - first) * factor, last: pivot + (last - pivot) * factor });
  }
  move(right, down, from = this.view) {
    const time = right * (from.end - from.begin), rows = down * (from.last - from.first);
    this.go({ begin: from.begin + time, end: from.end + time, first: from.first + rows, last: from.last + rows });
  }

  listen() {
    const canvas = this.drawing.canvas;
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const factor = Math.exp(event.deltaY / 400);
      if (event.ctrlKey) this.zoomRows(factor, event.offsetY / this.drawing.height);
      else this.zoom(factor, event.offsetX / this.drawing.width);
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.dragged = { x: event.offsetX, y: event.offsetY, view: { ...this.view }, selects: event.shiftKey };
    });
    canvas.addEventListener('pointermove', (event) => this.dragged ? this.drag(event) : this.point(event));
    canvas.addEventListener('pointerup', (event) => {
      if (this.dragged?.selects) this.select(this.windowOf(event));
      this.dragged = null;
    });
    canvas.addEventListener('pointercancel', () => { this.dragged = null; });
    canvas.addEventListener('dblclick', () => this.go(this.all));
    canvas.addEventListener('keydown', (event) => this.press(event));
    addEventListener('hashchange', () => { const view = this.fromAddress(); if (view) this.go(view); });
    new ResizeObserver(() => { this.drawing.measure(); this.changed(); }).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.changed());
    document.getElementById('whole').addEventListener('click', () => this.count(this.shown()));
    document.getElementById('ask').addEventListener('submit', (event) => { event.preventDefault(); this.ask(); });
  }

  press(event) {
    const keys = {
      ArrowLeft: () => this.move(-0.15, 0), ArrowRight: () => this.move(0.15, 0), ArrowUp: () => this.move(0, -0.15),
      ArrowDown: () => this.move(0, 0.15), '+': () => this.zoom(0.6), '=': () => this.zoom(0.6), '-': () => this.zoom(1 / 0.6),
      PageUp: () => this.zoomRows(1 / 0.6), PageDown: () => this.zoomRows(0.6), 0: () => this.go(this.all),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  drag(event) {
    const { dragged, drawing } = this;
    if (dragged.selects) this.mark(event);
    else this.move((dragged.x - event.offsetX) / drawing.width, (dragged.y - event.offsetY) / drawing.height, dragged.view);
  }

  timeAt(x) { return this.view.begin + x / this.drawing.width * (this.view.end - this.view.begin); }
  rowAt(y) { return Math.floor(this.view.first + y / this.drawing.height * (this.view.last - this.view.first)); }

  mark(event) {
    const { dragged, drawing } = this, [x, y] = [event.offsetX, event.offsetY], box = document.getElementById('selected');
    box.hidden = false;
    Object.assign(box.style, {
      left: `${drawing.canvas.offsetLeft + Math.min(x, dragged.x)}px`, top: `${drawing.canvas.offsetTop + Math.min(y, dragged.y)}px`,
      width: `${Math.abs(x - dragged.x)}px`, height: `${Math.abs(y - dragged.y)}px`,
    });
  }

  windowOf(event) {
    const { dragged } = this, times = [dragged.x, event.offsetX].map((x) => this.timeAt(x)).sort((a, b) => a - b);
    const rows = [dragged.y, event.offsetY].map((y) => this.rowAt(y)).sort((a, b) => a - b);
    return { begin: times[0], end: Math.max(times[1], times[0] + 1), first: Math.max(rows[0], 0), last: Math.min(rows[1] + 1, this.about.rows.length) };
  }

  shown() { return { ...this.view, first: Math.floor(this.view.first), last: Math.ceil(this.view.last) }; }
  select(window) { this.count(window).then(() => { document.getElementById('selected').hidden = true; }); }

  async count(window) {
    const rows = this.about.rows.slice(window.first, window.last);
    d3.select('#selection-hint').text(`${duration(window.end - window.begin)} of ${rows.length > 1 ? `${rows[0]} to ${rows[rows.length - 1]}` : rows[0]}:`);
    tabulate('#statistics', await this.source.json('statistics', window).catch((error) => ({ error: error.message })));
  }

  point(event) {
    const now = performance.now();
    if (now - (this.pointed || 0) < 60) return;
    this.pointed = now;
    const slack = (this.view.end - this.view.begin) / this.drawing.width / 2;
    this.source.json('stack', { row: this.rowAt(event.offsetY), time: this.timeAt(event.offsetX), slack }).then(
      (calls) => this.showStack(this.rowAt(event.offsetY), this.timeAt(event.offsetX), calls), () => {});
  }

  showStack(row, time, calls) {
    const list = d3.select('#stack').html('');
    list.append('li').attr('class', 'hint').text(`${this.about.rows[row] ?? ''} at ${duration(time)}`);
    const isLost = this.about.lost.some(([begin, end, at]) => at === row && begin <= time && time <= end);
    if (isLost) list.append('li').attr('class', 'hint').text('calls are missing here: the recorder could not keep them');
    else if (!calls.length) list.append('li').attr('class', 'hint').text('no recorded call: it computes');
    const items = list.selectAll('li.call').data(calls).join('li').attr('class', 'call')
      .style('border-color', (call) => this.about.colors[this.about.layers.indexOf(call.layer)]);
    items.append('b').text((call) => call.function);
    items.append('span').text((call) => ` ${duration(call.ns)}${call.error == null ? '' : `, failed: ${call.error}`}`);
    items.append('small').html('<br>').append('span').text((call) => this.detail(call));
  }

  detail(call) {
    const words = [call.layer];
    if (call.bytes) words.push(`${d3.format(',')(call.bytes)} bytes`);
    if (call.offset != null) words.push(`at ${d3.format(',')(call.offset)}`);
    if (call.peer != null) words.push(call.tag != null ? `rank ${call.peer}, tag ${call.tag}` : `root ${call.peer}`);
    if (call.object) words.push(call.object);
    return words.join(', ');
  }

  // They cost more than a picture, so they come behind it, and of a large recording when somebody asks for them.
  offerFindings() {
    const place = d3.select('#findings').html('');
    const look = () => {
      place.html('').append('li').attr('class', 'hint').text('looking …');
      this.source.json('findings').then((found) => this.showFindings(found), (error) => place.html('').append('li').attr('class', 'error').text(error.message));
    };
    if (this.about.calls <= this.about.searched) { document.body.addEventListener('drawn', look, { once: true }); return; }
    place.append('li').append('button').attr('type', 'button').text(`Look for findings in ${d3.format(',')(this.about.calls)} calls`).on('click', look);
  }

  showFindings(findings) {
    d3.select('#findings').html('');
    const items = d3.select('#findings').selectAll('li').data(findings).join('li');
    items.append('button').attr('type', 'button').text((one) => `${one.code} ${one.severity}: ${one.title}, ${duration(one.seconds * 1e9)}`)
      .on('click', (one) => this.jump(one));
    items.append('small').text((one) => `${one.evidence}. ${one.advice}.`);
    if (!findings.length) d3.select('#findings').append('li').attr('class', 'hint').text('Nothing costs much.');
  }

  jump(one) {
    const time = one.begin == null ? this.all : { begin: one.begin - 0.05 * (one.end - one.begin), end: one.end + 0.05 * (one.end - one.begin) };
    const rows = one.rows.length ? { first: one.rows[0], last: one.rows[one.rows.length - 1] + 1 } : this.all;
    this.go({ begin: time.begin, end: time.end, first: rows.first, last: rows.last });
    if (this.source instanceof Server) document.getElementById('words').value = one.query.replace(/\s+/g, ' ');
    this.drawing.canvas.focus();
  }

  async ask() {
    const place = document.getElementById('answer');
    place.textContent = 'asking …';
    const words = document.getElementById('words').value;
    const found = await this.source.json('ask', { words }).catch((error) => error.name === 'AbortError' ? null : { error: error.message });
    if (found) tabulate(place, found);  // else another question has been asked
  }
}

async function start() {
  const source = window.embedded ? new Embedded(window.embedded) : new Server();
  window.viewer = new Viewer(source, await source.json('about'));
}
start().catch((error) => { document.getElementById('state').textContent = `The recording did not come: ${error.message}`; });
