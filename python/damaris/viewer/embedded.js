// A small recording that the page holds itself, for readers without a server. It answers as the server does, but for questions.
'use strict';

class Embedded {
  constructor(given) {
    this.given = given;
    const bytes = (name) => Uint8Array.from(atob(given.calls[name]), (one) => one.charCodeAt(0)).buffer;
    this.begin = new Float64Array(bytes('begin'));
    this.ns = new Float64Array(bytes('ns'));
    this.layer = new Uint8Array(bytes('layer'));
    this.top = new Uint8Array(bytes('top'));  // 0: another call of its layer is around it
    this.what = new Uint32Array(bytes('what'));
    this.bytes = new Float64Array(bytes('bytes'));
    this.first = given.first;  // of each row's calls; the last is their number
  }

  async json(kind, values) {
    if (kind === 'about' || kind === 'findings') return this.given[kind];
    if (kind === 'ask') throw new Error('Questions need damaris view RUN, which serves the recording itself.');
    return this[kind](values);
  }

  // Calls of a row by begin, those around others first.
  *calls(row, begin, end) {
    for (let i = this.first[row]; i < this.first[row + 1] && this.begin[i] < end; ++i)
      if (this.begin[i] + this.ns[i] > begin) yield i;
  }

  // As dt_paint does: how long each layer was innermost in each pixel, and of these the longest.
  async raster({ begin, end, first, last }, width) {
    const layers = this.given.about.layers.length, pixel = (end - begin) / width, pixels = new Uint8Array(2 * width * Math.max(last - first, 0));
    for (let row = first; row < last; ++row) {
      const ns = new Float64Array(width * layers), around = [];
      let painted = begin;
      const add = (until, layer) => {
        let from = Math.max(painted, begin);
        until = Math.min(until, end);
        for (let at = Math.floor((from - begin) / pixel); from < until && at < width; ++at) {
          const edge = Math.min(begin + (at + 1) * pixel, until);
          ns[at * layers + layer] += edge - from;
          from = edge;
        }
        painted = Math.max(painted, until);
      };
      const leave = (until) => { while (around.length && around[around.length - 1].end <= until) { const one = around.pop(); add(one.end, one.layer); } };
      for (const i of this.calls(row, begin, end)) {
        leave(this.begin[i]);
        if (around.length) add(this.begin[i], around[around.length - 1].layer);
        painted = this.begin[i];
        around.push({ end: this.begin[i] + this.ns[i], layer: this.layer[i] });
      }
      leave(Infinity);
      for (let at = 0; at < width; ++at) {
        let best = 0;
        for (let layer = 1; layer < layers; ++layer) if (ns[at * layers + layer] > ns[at * layers + best]) best = layer;
        const most = ns[at * layers + best];
        if (most > 0) pixels.set([best + 1, Math.ceil(Math.min(most / pixel, 1) * 255)], 2 * ((row - first) * width + at));
      }
    }
    return pixels;
  }

  stack({ row, time, slack }) {
    if (row < 0 || row >= this.first.length - 1) return [];
    return [...this.calls(row, time - slack, time + slack)].slice(0, 30).map((i) => {
      const [fn, object] = this.given.what[this.what[i]];
      return { layer: this.given.about.layers[this.layer[i]], function: fn, object, begin: this.begin[i], ns: this.ns[i], bytes: this.bytes[i] };
    });
  }

  lines({ begin, end }) {
    const messages = this.given.messages.filter(([sent, , received]) => sent < end && received > begin);
    const collectives = this.given.collectives.filter((members) => members.some(([time]) => time > begin && time < end));
    const most = this.given.most;
    return { messages: messages.length > most ? [] : messages, collectives: collectives.length > most ? [] : collectives };
  }

  statistics({ begin, end, first, last }) {
    const found = new Map();
    for (let row = first; row < last; ++row)
      for (const i of this.calls(row, begin, end)) {
        if (!this.top[i]) continue;
        const key = `${this.given.about.layers[this.layer[i]]} ${this.given.what[this.what[i]][0]}`;
        const sum = found.get(key) || [0, 0, 0];
        sum[0] += 1;
        sum[1] += this.bytes[i];
        sum[2] += (Math.min(end, this.begin[i] + this.ns[i]) - Math.max(begin, this.begin[i])) / 1e9;
        found.set(key, sum);
      }
    const rows = [...found].map(([key, sum]) => [...key.split(' '), ...sum]).sort((a, b) => b[4] - a[4]);
    return { columns: ['layer', 'function', 'calls', 'bytes', 'seconds'], rows };
  }
}
