// The report page. Data stands in the script elements `data-*` that are no scripts; docs/results.md is
// their manual. Everything is drawn here: no request leaves the page.
'use strict';
(() => {
  const pinfold = {charts: {}, errors: []};
  window.pinfold = pinfold;
  window.addEventListener('error', (event) => pinfold.errors.push(String(event.message)));
  document.addEventListener('securitypolicyviolation',
    (event) => pinfold.errors.push(`${event.violatedDirective} ${event.blockedURI}`));

  // ---- small tools -------------------------------------------------------------------------------

  const $ = (id) => document.getElementById(id);
  const text_of = (id) => $(`data-${id}`).textContent;
  const json_of = (id) => JSON.parse(text_of(id));

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

  const whole = (value) => Math.round(value).toLocaleString('en-US');
  const number = (value, places = 1) =>
    value.toLocaleString('en-US', {minimumFractionDigits: 0, maximumFractionDigits: places});
  const plural = (count, noun) => `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;
  const percent = (value) => `${number(value, 1)} %`;
  const ms = (value) => value === null || value === undefined ? '-' :
    value >= 1000 ? `${number(value / 1000, value < 10000 ? 2 : 1)} s` : `${number(value, value < 10 ? 2 : 0)} ms`;
  const moment = (seconds, span) => number(seconds, span > 1000 ? 0 : span > 50 ? 1 : span > 1 ? 2 : 4);
  const at = (seconds, span) => `${moment(seconds, span)} s`;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function csv_of(id) {
    const [head, ...lines] = text_of(id).trim().split('\n');
    const names = head.trim().split(',');
    return {names, rows: lines.map((line) => line.split(',').map(Number))};
  }

  function bytes_of(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes;
  }
  /** Numbers of seven bits a byte, lowest first. */
  class Varints {
    constructor(bytes) { this.bytes = bytes; this.at = 0; }
    byte() { return this.bytes[this.at++]; }
    next() {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = this.byte();
        value += (byte & 127) * scale;
        if (byte < 128) return value;
      }
    }
  }

  /** Round values between `from` and `to`, about `count` of them. */
  function ticks(from, to, count) {
    const rough = (to - from) / Math.max(count, 1) || 1;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const found = [];
    for (let i = Math.ceil(from / step); i * step <= to + step * 1e-9; ++i) found.push(i * step);
    return found;
  }

  /** Index of the last element whose key is at most `wanted`, or -1. */
  function last_upto(list, wanted, key) {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (key(list[middle]) <= wanted) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  function show_tip(text, x, y) {
    const tip = $('tip');
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > window.innerHeight ? y - box.height - 12 : y + 16}px`;
  }

  /** A line of a key; one patch for each of `colour_names`. */
  function key_item(colour_names, text) {
    return el('li', {}, ...[colour_names].flat().map((name) => {
      const swatch = el('i');
      swatch.style.background = `var(--${name})`;
      return swatch;
    }), text);
  }

  const redraws = [];
  function keep_drawn(draw) {
    draw();
    redraws.push(draw);
  }

  // ---- data --------------------------------------------------------------------------------------

  const summary = json_of('summary');
  const recording = json_of('recording');
  const requests = json_of('requests');
  const block_map = json_of('blockmap');
  const timeline = csv_of('timeline');
  const column = Object.fromEntries(timeline.names.map((name, i) => [name, i]));
  const rows = timeline.rows;
  const start = rows.length ? rows[0][0] : 0;
  const end = Math.max(rows.length ? rows[rows.length - 1][0] : 0, start + 1e-6);
  const preemptions = csv_of('preemptions').rows.map(
    ([t, request, sample, attempt, known, in_flight, blocks]) => ({t, request, sample, attempt, known, in_flight, blocks}));
  const usable = summary.blocks.usable;
  const block_size = block_map.block_size;

  const STATES = block_map.states;  // by number
  const FREE = 0, RESERVED = 1, COMMITTED = 2, SHARED = 3, PARKED = 4, TAKEN = 5, IDLE = 6;
  const let_go = (state) => state === PARKED || state === TAKEN;
  const unowned = (state) => state === FREE || state === IDLE;
  const STATE_TEXT = {
    free: 'free', reserved: 'reserved for prompt tokens not computed yet', committed: 'holds computed tokens, a shade an owner',
    shared: 'shared by several sequences', parked: 'parked: let go, a queued step may still touch it',
    taken: 'parked after its owner was preempted', idle: 'nobody\'s, content kept for reuse',
  };

  /** Sum of what victims of `list` have to compute again, the worst first. */
  function victims_of(list) {
    const by_request = new Map();
    for (const one of list) {
      const sum = by_request.get(one.request) || {request: one.request, times: 0, known: 0, blocks: 0};
      sum.times += 1;
      sum.known += one.known;
      sum.blocks += one.blocks;
      by_request.set(one.request, sum);
    }
    return [...by_request.values()].sort((a, b) => b.known - a.known || a.request - b.request);
  }
  const worst = requests.victims[0];

  // ---- a canvas to look into: time across, something down ----------------------------------------

  const LEFT = 74, RIGHT = 6, BOTTOM = 42;

  class Plane {
    /**
     * options: name, label, height, strip (height above the picture), below (height between the picture and
     * the times, 0 if not said), bounds and home {t0, t1, y0, y1}, paint(pixels, view), decorate(context, view,
     * box), y_label(value), y_title, describe(t, y) -> text or null; y is Infinity below the picture
     */
    constructor(figure, options) {
      this.options = options;
      this.bounds = options.bounds;
      this.view = {...options.home || options.bounds};
      this.cursor = null;
      this.drag = null;
      this.canvas = el('canvas', {tabindex: 0, role: 'img', 'aria-label': options.label +
        ' Arrow keys move a cursor that names what is there, plus and minus zoom, 0 shows all.'});
      const tools = el('div', {class: 'tools'});
      for (const [text, title, act] of [['+', 'Zoom in', () => this.zoom(0.5)], ['−', 'Zoom out', () => this.zoom(2)],
        ['All', 'Show all', () => this.reset()]]) {
        const button = el('button', {type: 'button', title, 'aria-label': `${title}: ${options.name}`}, text);
        button.addEventListener('click', act);
        tools.append(button);
      }
      figure.append(tools, this.canvas);
      this.listen();
      keep_drawn(() => this.draw());
      pinfold.charts[options.name] = {points: options.points, view: () => ({...this.view}),
        describe: (t, y) => options.describe(t, y), box: () => this.box()};
    }

    box() {
      const width = this.canvas.clientWidth;
      return {x: LEFT, y: this.options.strip, w: Math.max(width - LEFT - RIGHT, 20),
        h: this.options.height - this.options.strip - this.below() - BOTTOM};
    }
    below() { return this.options.below || 0; }
    place(x, y) {
      const box = this.box();
      const {t0, t1, y0, y1} = this.view;
      return {t: t0 + (x - box.x) / box.w * (t1 - t0), y: y > box.y + box.h ? Infinity : y0 + (y - box.y) / box.h * (y1 - y0),
        inside: x >= box.x && x <= box.x + box.w && y >= 0 && y <= box.y + box.h + this.below()};
    }

    draw() {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      const width = this.canvas.clientWidth;
      if (width === 0) return;
      const {height} = this.options;
      this.canvas.style.height = `${height}px`;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      const context = this.canvas.getContext('2d');
      const box = this.box();
      const image = context.createImageData(Math.round(box.w * ratio), Math.round(box.h * ratio));
      this.options.paint({data: new Uint32Array(image.data.buffer), w: image.width, h: image.height, ratio}, this.view);
      context.putImageData(image, Math.round(box.x * ratio), Math.round(box.y * ratio));
      context.scale(ratio, ratio);
      context.font = '12px system-ui, "DejaVu Sans", sans-serif';
      this.axes(context, box);
      if (this.options.decorate) this.options.decorate(context, this.view, box);
      if (this.cursor) {
        const x = box.x + (this.cursor.t - this.view.t0) / (this.view.t1 - this.view.t0) * box.w;
        const y = box.y + (this.cursor.y - this.view.y0) / (this.view.y1 - this.view.y0) * box.h;
        context.strokeStyle = colour('ink');
        context.lineWidth = 1;
        context.strokeRect(x - 4.5, y - 4.5, 9, 9);
      }
      if (this.drag && this.drag.moved) {
        const {x, y, to} = this.drag;
        context.fillStyle = 'rgba(128,128,128,0.25)';
        context.strokeStyle = colour('ink');
        context.fillRect(x, y, to.x - x, to.y - y);
        context.strokeRect(x, y, to.x - x, to.y - y);
      }
    }

    axes(context, box) {
      const {t0, t1, y0, y1} = this.view;
      context.fillStyle = colour('soft');
      context.strokeStyle = colour('rule');
      context.textBaseline = 'top';
      context.textAlign = 'center';
      const floor = box.y + box.h + this.below();
      for (const t of ticks(t0, t1, box.w / 110)) {
        const x = box.x + (t - t0) / (t1 - t0) * box.w;
        context.beginPath();
        context.moveTo(x, floor);
        context.lineTo(x, floor + 4);
        context.stroke();
        const text = moment(t, t1 - t0);
        const half = context.measureText(text).width / 2;
        context.fillText(text, Math.max(box.x + half, Math.min(x, box.x + box.w - half)), floor + 7);
      }
      context.fillText('time since start, s', box.x + box.w / 2, floor + 25);
      context.save();
      context.translate(2, box.y + box.h / 2);
      context.rotate(-Math.PI / 2);
      context.fillText(this.options.y_title, 0, 0);
      context.restore();
      context.textAlign = 'right';
      context.textBaseline = 'middle';
      const low = Math.min(y0, y1), high = Math.max(y0, y1);
      for (const y of ticks(low, high, box.h / 56)) {
        const place = box.y + (y - y0) / (y1 - y0) * box.h;
        const text = this.options.y_label(y);
        if (text) context.fillText(text, box.x - 6, Math.max(box.y + 6, Math.min(place, box.y + box.h - 6)));
      }
      context.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
    }

    clamp() {
      const {view, bounds} = this;
      const fit = (from, to) => {
        const span = Math.min(view[to] - view[from], bounds[to] - bounds[from]);
        view[from] = Math.max(bounds[from], Math.min(view[from], bounds[to] - span));
        view[to] = view[from] + span;
      };
      fit('t0', 't1');
      if (bounds.y1 > bounds.y0) fit('y0', 'y1');
    }
    zoom(factor, t) {
      const {view} = this;
      const centre = t ?? (this.cursor ? this.cursor.t : (view.t0 + view.t1) / 2);
      const span = Math.max((view.t1 - view.t0) * factor, (this.bounds.t1 - this.bounds.t0) * 1e-7);
      view.t0 = centre - (centre - view.t0) / (view.t1 - view.t0) * span;
      view.t1 = view.t0 + span;
      this.clamp();
      this.draw();
    }
    reset() {
      this.view = {...this.bounds};
      this.draw();
    }
    pan(part) {
      const shift = (this.view.t1 - this.view.t0) * part;
      this.view.t0 += shift;
      this.view.t1 += shift;
      this.clamp();
      this.draw();
    }

    listen() {
      const {canvas} = this;
      const position = (event) => {
        const rect = canvas.getBoundingClientRect();
        return {x: event.clientX - rect.left, y: event.clientY - rect.top};
      };
      canvas.addEventListener('pointerdown', (event) => {
        if (event.button !== 0 || event.pointerType === 'touch') return;
        this.drag = {...position(event), to: position(event), moved: false};
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener('pointermove', (event) => {
        const here = position(event);
        if (this.drag) {
          this.drag.to = here;
          this.drag.moved = Math.abs(here.x - this.drag.x) > 5;
          if (this.drag.moved) { show_tip(null); this.draw(); }
          return;
        }
        const place = this.place(here.x, here.y);
        show_tip(place.inside ? this.options.describe(place.t, place.y) : null, event.clientX, event.clientY);
      });
      canvas.addEventListener('pointerleave', () => show_tip(null));
      canvas.addEventListener('pointerup', () => {
        const {drag} = this;
        this.drag = null;
        if (!drag || !drag.moved) return;
        const a = this.place(Math.min(drag.x, drag.to.x), Math.min(drag.y, drag.to.y));
        const b = this.place(Math.max(drag.x, drag.to.x), Math.max(drag.y, drag.to.y));
        this.view.t0 = a.t;
        this.view.t1 = b.t;
        // A drag along the time leaves the addresses alone.
        if (this.bounds.y1 > this.bounds.y0 && Math.abs(drag.to.y - drag.y) > 24 && Number.isFinite(b.y)) {
          this.view.y0 = a.y;
          this.view.y1 = b.y;
        }
        this.clamp();
        this.draw();
      });
      canvas.addEventListener('dblclick', () => this.reset());
      canvas.addEventListener('wheel', (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;  // else the page scrolls
        event.preventDefault();
        this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, this.place(position(event).x, 0).t);
      }, {passive: false});
      canvas.addEventListener('keydown', (event) => this.key(event));
      canvas.addEventListener('blur', () => { this.cursor = null; show_tip(null); this.draw(); });
    }

    key(event) {
      const {view} = this;
      const box = this.box();
      const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
      if (event.key === '+' || event.key === '=') this.zoom(0.5);
      else if (event.key === '-') this.zoom(2);
      else if (event.key === '0' || event.key === 'Escape') this.reset();
      else if (event.key in moves && event.shiftKey) this.pan(moves[event.key][0] / 4);
      else if (event.key in moves) {
        const [right, down] = moves[event.key];
        const here = this.cursor || {t: (view.t0 + view.t1) / 2, y: (view.y0 + view.y1) / 2};
        this.cursor = {
          t: Math.max(view.t0, Math.min(view.t1, here.t + right * (view.t1 - view.t0) / box.w * 4)),
          y: Math.max(Math.min(view.y0, view.y1), Math.min(Math.max(view.y0, view.y1),
            here.y + down * (view.y1 - view.y0) / box.h * 4)),
        };
        this.draw();
        const rect = this.canvas.getBoundingClientRect();
        show_tip(this.options.describe(this.cursor.t, this.cursor.y),
          rect.left + box.x + (this.cursor.t - view.t0) / (view.t1 - view.t0) * box.w,
          rect.top + box.y + (this.cursor.y - view.y0) / (view.y1 - view.y0) * box.h);
      } else return;
      event.preventDefault();
    }
  }

  /** "#rrggbb" as a canvas holds it. */
  function pixel(hex) {
    const value = parseInt(hex.slice(1), 16);
    return (255 << 24 | (value & 255) << 16 | (value & 0xff00) | value >> 16) >>> 0;
  }

  const SHADES = ['committed', 'committed-2', 'committed-3'];

  /** Colours of cells; those of an owner differ a little from its neighbours'. */
  function palette() {
    const committed = SHADES.map((name) => pixel(colour(name)));
    const by_state = STATES.map((state) => pixel(colour(state)));
    const victim = pixel(colour('victim'));
    return (state, owner, victim_request) => {
      if (owner === victim_request + 1 && (state === COMMITTED || state === RESERVED)) return victim;
      if (state === COMMITTED) return committed[(owner * 7 + (owner >> 3)) % 3];
      return by_state[state];
    };
  }

  function draw_ticks(context, view, box, height) {
    const counts = new Map();
    for (const one of preemptions) {
      if (one.t < view.t0 || one.t > view.t1) continue;
      const x = Math.floor(box.x + (one.t - view.t0) / (view.t1 - view.t0) * box.w);
      counts.set(x, (counts.get(x) || 0) + 1);
    }
    const most = Math.max(1, ...counts.values());
    context.fillStyle = colour('taken');
    for (const [x, count] of counts) {
      const tall = 5 + (height - 5) * count / most;
      context.fillRect(x - 0.5, box.y - 1 - tall, 1.5, tall);
    }
    return counts.size ? most : 0;
  }

  // ---- block map ---------------------------------------------------------------------------------

  const one_in = (blocks) => blocks > 1 ? `one in ${blocks}` : 'all';

  function draw_overview() {
    const {overview} = block_map;
    const states = bytes_of(overview.states);
    const owner_bytes = new Varints(bytes_of(overview.owners));
    const owners = Uint32Array.from(states, () => owner_bytes.next());
    const {lanes, columns, blocks_per_lane} = overview;
    const bounds = {t0: overview.from_s, t1: overview.from_s + Math.max(columns, 1) * overview.column_s, y0: 0, y1: lanes};
    const cell = (t, y) => {
      const c = Math.floor((t - overview.from_s) / overview.column_s);
      const lane = Math.floor(y);
      return c < 0 || c >= columns || lane < 0 || lane >= lanes ? -1 : c * lanes + lane;
    };
    const {focus} = block_map;
    // Else its colour would hide the rest: where many columns share a pixel, or marks are widened.
    const rare = states.reduce((count, state) => count + (state === TAKEN), 0) < states.length / 50;
    $('overview-title').textContent = `Whole run: ${one_in(blocks_per_lane)} of ${whole(usable)} blocks, every ` +
      `${at(overview.column_s, overview.column_s)}`;
    new Plane($('overview'), {
      name: 'overview', height: 318, strip: 26, bounds, points: states.length, y_title: 'block number',
      label: 'Block map of the whole run.',
      y_label: (lane) => lane === Math.floor(lane) && lane < lanes ? whole(1 + lane * blocks_per_lane) : '',
      paint: (pixels, view) => {
        const choose = palette();
        const per_pixel = (view.t1 - view.t0) / pixels.w;
        for (let x = 0; x < pixels.w; ++x) {
          const from = Math.floor((view.t0 + x * per_pixel - overview.from_s) / overview.column_s);
          const upto = Math.max(from, Math.floor((view.t0 + (x + 1) * per_pixel - overview.from_s) / overview.column_s - 1e-9));
          for (let y = 0; y < pixels.h; ++y) {
            const lane = Math.min(lanes - 1, Math.floor(view.y0 + y / pixels.h * (view.y1 - view.y0)));
            let state = FREE, owner = 0;
            for (let c = Math.max(from, 0); c <= Math.min(upto, columns - 1); ++c) {
              if (rare && state === TAKEN) break;
              state = states[c * lanes + lane];
              owner = owners[c * lanes + lane];
            }
            pixels.data[y * pixels.w + x] = choose(state, owner, worst ? worst.request : -1);
          }
        }
        // What was taken from victims is short: at least four pixels wide where it is rare.
        const taken = pixel(colour('taken'));
        const wide = rare ? Math.max(0, Math.round(4 * pixels.ratio) - Math.floor(overview.column_s / per_pixel)) : 0;
        for (let y = 0; wide > 0 && y < pixels.h; ++y) {
          for (let x = pixels.w - 1; x >= 0; --x) {
            if (pixels.data[y * pixels.w + x] !== taken) continue;
            pixels.data.fill(taken, y * pixels.w + x, y * pixels.w + Math.min(x + 1 + wide, pixels.w));
          }
        }
      },
      decorate: (context, view, box) => {
        draw_ticks(context, view, box, 22);
        const x = (t) => box.x + (t - view.t0) / (view.t1 - view.t0) * box.w;
        const from = Math.max(x(focus.from_s), box.x), to = Math.min(x(focus.to_s), box.x + box.w);
        if (to < box.x || from > box.x + box.w) return;
        context.strokeStyle = colour('ink');
        context.lineWidth = 1.5;
        context.strokeRect(from - 1, box.y - 1, Math.max(to - from, 2) + 2, box.h + 2);
        const text = preemptions.length ? 'densest burst: below' : 'fullest: below';
        const wide = context.measureText(text).width;
        const left = Math.max(box.x, Math.min(to + 6, box.x + box.w - wide - 8));
        context.fillStyle = colour('paper');
        context.fillRect(left - 3, box.y + 4, wide + 6, 18);
        context.fillStyle = colour('ink');
        context.textAlign = 'left';
        context.textBaseline = 'middle';
        context.fillText(text, left, box.y + 13);
      },
      describe: (t, y) => {
        const n = cell(t, y);
        if (n < 0) return null;
        const owner = owners[n] ? `request ${owners[n] - 1}` : unowned(states[n]) ? 'nobody' : 'one of several';
        const block = 1 + Math.floor(y) * blocks_per_lane;
        return `block ${whole(block)} at ${at(t, overview.column_s)}\n${STATE_TEXT[STATES[states[n]]]}\n` +
          (let_go(states[n]) ? `let go by ${owner}` : `owner: ${owner}`);
      },
    });
  }

  /** Of preemptions, the stretch of `span` seconds with the most of them, weighed by their tokens. */
  function densest(list, span) {
    let best = null;
    let first = 0;
    let known = 0;
    for (let last = 0; last < list.length; ++last) {
      known += list[last].known;
      while (list[last].t - list[first].t > span) known -= list[first++].known;
      const count = last - first + 1;
      if (!best || count > best.count || (count === best.count && known > best.known)) {
        best = {count, known, from: list[first].t, to: list[last].t};
      }
    }
    return best;
  }

  const LABEL_LINES = 6, LABEL_HEIGHT = 20, COUNTS_HEIGHT = 48, COUNTS_GAP = 8;

  /**
   * Places `labels` ({x, wide, mine: to be kept}, by x), each with a leader down from it at its x, so that none lies on another
   * or on a leader: gives them `left` and `line` (0 is the lowest of `lines`), and returns those that fit.
   * Labels to the left of their leader rise with x, labels to its right fall.
   */
  function arranged(labels, lines, box) {
    let best = [];
    const worth = (placed) => placed.length + (placed.some((one) => one.mine) ? labels.length : 0);
    for (let split = 0; split <= labels.length; ++split) {
      const lower = labels.slice(0, split), upper = labels.slice(split);
      const leftward = (list) => list.map((label) => ({...label, left: Math.max(box.x, label.x - label.wide)}));
      const rightward = (list) => list.map((label) => ({...label, left: Math.min(label.x, box.x + box.w - label.wide)})).reverse();
      for (const order of [[...leftward(lower), ...rightward(upper)], [...rightward(lower), ...leftward(upper)],
        [...leftward(upper), ...rightward(lower)]]) {
        const placed = [];
        for (const label of order) {
          for (let line = 0; line < lines; ++line) {
            const over = (one, x) => x > one.left - 3 && x < one.left + one.wide + 3;
            const clear = placed.every((one) => one.line === line ?
              one.left > label.left + label.wide + 3 || label.left > one.left + one.wide + 3 :
              one.line < line ? !over(one, label.x) : !over(label, one.x));
            if (!clear) continue;
            placed.push({...label, line});
            break;
          }
        }
        if (worth(placed) > worth(best)) best = placed;
      }
    }
    return best;
  }

  function draw_focus() {
    const {focus} = block_map;
    const {lanes, blocks_per_lane} = focus;
    const initial = bytes_of(focus.initial_states);
    const initial_owners = new Varints(bytes_of(focus.initial_owners));
    const stream = new Varints(bytes_of(focus.stream));
    const history = [];
    for (let lane = 0; lane < lanes; ++lane) {
      history.push([{t: -Infinity, state: initial[lane], owner: initial_owners.next()}]);
    }
    let nanoseconds = 0;
    for (let i = 0; i < focus.changes; ++i) {
      nanoseconds += stream.next();
      const lane = stream.next();
      const state = stream.byte();
      history[lane].push({t: focus.from_s + nanoseconds / 1e9, state, owner: stream.next()});
    }
    const bounds = {t0: focus.from_s, t1: Math.max(focus.to_s, focus.from_s + 1e-6), y0: 0, y1: lanes};
    const within = preemptions.filter((one) => one.t >= focus.from_s && one.t <= focus.to_s);
    const step_s = (end - start) / Math.max(summary.steps, 1);
    const span = Math.min(bounds.t1 - bounds.t0, 260 * step_s);
    const burst = densest(within, span * 0.8);
    const centre = burst ? (burst.from + burst.to) / 2 : focus.peak_s;
    const home = {...bounds, t0: Math.max(bounds.t0, Math.min(centre - span / 2, bounds.t1 - span))};
    home.t1 = home.t0 + span;
    const local = victims_of(within.filter((one) => one.t >= home.t0 && one.t <= home.t1))[0];
    const victim = local ? local.request : -1;
    const shown = `${one_in(blocks_per_lane)} of ${whole(usable)} blocks`;
    const when = !burst ? '' : burst.to > burst.from ? `from ${moment(burst.from, 50)} to ${at(burst.to, 50)}` : `at ${at(burst.from, 50)}`;
    $('focus-title').textContent = burst ? `The burst: ${plural(burst.count, 'preemption')} ${when}; ${shown}` :
      `Where the pool was fullest, at ${at(focus.peak_s, 50)}; ${shown}`;

    const lead = $('map-lead');
    if (worst) {
      lead.append(el('strong', {}, plural(summary.preemptions, 'preemption')),
        burst ? `; the densest burst is ${whole(burst.count)} of them ${when}. ` : '. ', 'Worst victim, for it had most to compute again: ',
        el('strong', {}, `request ${worst.request}`), `, preempted ${plural(worst.preemptions, 'time')}, ` +
        `${whole(worst.recomputed_tokens)} of all ${whole(summary.recomputed_tokens)} tokens computed again.`);
    } else {
      lead.append(`Nobody was preempted. At most ${whole(summary.blocks.peak_owned)} of ${whole(usable)} blocks were owned.`);
    }
    const key = $('map-key');
    const seen = new Set(bytes_of(block_map.overview.states));
    for (const changes of history) for (const {state} of changes) seen.add(state);
    STATES.forEach((state, i) => {
      if (seen.has(i) || (i !== SHARED && i !== IDLE)) {
        key.append(key_item(i === COMMITTED ? SHADES : state, STATE_TEXT[state]));
      }
    });
    if (worst) {
      key.append(key_item('victim', victim === worst.request || victim < 0 ? `request ${worst.request}, the worst victim` :
        `the worst victim: request ${worst.request} of the whole run, request ${victim} of the burst`));
    }
    $('map-note').textContent = 'Each row is one block, named by its number. ' +
      'Drag to zoom, double-click or press 0 for all, hold Ctrl or Shift and turn the wheel. ' +
      'Every preemption is a tick above the map, however short; what is parked is drawn a few pixels wide at least. ' +
      'Below the burst: how many blocks are held, of all, and how many are parked, on a scale of their own' +
      (blocks_per_lane > 1 ? `; counted in its rows, times ${blocks_per_lane}.` : '.');

    // How many blocks are so, after each change; several at one instant count as one.
    const group_of = (state) => unowned(state) ? 0 : state === PARKED ? 2 : state === TAKEN ? 3 : 1;
    const now = [0, 0, 0, 0];
    for (const changes of history) now[group_of(changes[0].state)] += 1;
    const counts = [{t: -Infinity, of: now.map((lanes) => lanes * usable / history.length)}];
    history.flatMap((changes) => changes.slice(1).map((one, i) => ({t: one.t, from: changes[i].state, to: one.state})))
      .sort((a, b) => a.t - b.t).forEach(({t, from, to}) => {
        now[group_of(from)] -= 1;
        now[group_of(to)] += 1;
        if (counts[counts.length - 1].t === t) counts.pop();
        counts.push({t, of: now.map((lanes) => lanes * usable / history.length)});
      });
    const counts_at = (t) => counts[Math.max(0, last_upto(counts, t, (one) => one.t))].of;

    /** The counts, in two strips from `top`: all blocks, and the parked ones alone, so that they can be seen. */
    function draw_counts(context, view, box, top) {
      let n = Math.max(0, last_upto(counts, view.t0, (one) => one.t));
      let parked_most = 1;
      for (let i = n; i < counts.length && counts[i].t <= view.t1; ++i) parked_most = Math.max(parked_most, counts[i].of[2] + counts[i].of[3]);
      const strips = [{y: top, most: usable, parts: [[3, 'taken'], [2, 'parked'], [1, 'committed']], text: 'held'},
        {y: top + COUNTS_HEIGHT + COUNTS_GAP, most: parked_most, parts: [[3, 'taken'], [2, 'parked']], text: 'parked'}];
      const per_pixel = (view.t1 - view.t0) / box.w;
      const last = {taken: -Infinity, of: null};
      for (const {y, most, text} of strips) {
        context.fillStyle = colour('free');
        context.fillRect(box.x, y, box.w, COUNTS_HEIGHT);
        context.fillStyle = colour('soft');
        context.textAlign = 'right';
        context.textBaseline = 'middle';
        context.fillText(whole(most), box.x - 6, y + 6);
        context.fillText(text, box.x - 6, y + COUNTS_HEIGHT / 2 + 1);
        context.fillText('0', box.x - 6, y + COUNTS_HEIGHT - 5);
      }
      const colours = {taken: colour('taken'), parked: colour('parked'), committed: colour('committed')};
      for (let x = 0; x < box.w; ++x) {
        // Of a pixel's instants the one with the most blocks taken, then parked.
        const until = view.t0 + (x + 1) * per_pixel;
        let {of} = counts[n];
        while (n + 1 < counts.length && counts[n + 1].t < until) {
          const next = counts[++n].of;
          if (next[3] > of[3] || (next[3] === of[3] && next[2] > of[2])) of = next;
        }
        if (of[3] > 0) Object.assign(last, {taken: x, of});
        else if (x - last.taken < 4) of = last.of;
        for (const {y, most, parts} of strips) {
          let bottom = y + COUNTS_HEIGHT;
          for (const [group, name] of parts) {
            const tall = of[group] / most * COUNTS_HEIGHT;
            context.fillStyle = colours[name];
            context.fillRect(box.x + x, bottom - tall, Math.min(1, box.w - x), tall);
            bottom -= tall;
          }
        }
      }
      context.strokeStyle = colour('rule');
      for (const {y} of strips) context.strokeRect(box.x - 0.5, y - 0.5, box.w + 1, COUNTS_HEIGHT + 1);
    }

    const at_home = within.filter((one) => one.t >= home.t0 && one.t <= home.t1).length;
    const lines = Math.max(1, Math.min(at_home, LABEL_LINES));
    new Plane($('focus'), {
      name: 'focus', strip: 14 + lines * LABEL_HEIGHT, below: 2 * (COUNTS_HEIGHT + COUNTS_GAP), bounds, home, points: focus.changes,
      height: 14 + lines * LABEL_HEIGHT + 392 + 2 * (COUNTS_HEIGHT + COUNTS_GAP) + BOTTOM, y_title: 'block number',
      label: 'Block map of the densest burst of preemptions.',
      y_label: (lane) => lane === Math.floor(lane) && lane < lanes ? whole(1 + lane * blocks_per_lane) : '',
      paint: (pixels, view) => {
        const choose = palette();
        const scale_t = pixels.w / (view.t1 - view.t0);
        const scale_y = pixels.h / (view.y1 - view.y0);
        const first = Math.max(0, Math.floor(view.y0)), last = Math.min(lanes, Math.ceil(view.y1));
        for (const marks of [0, PARKED, TAKEN]) {  // what is short lies on top
          for (let lane = first; lane < last; ++lane) {
            const top = Math.max(0, Math.floor((lane - view.y0) * scale_y));
            const bottom = Math.min(pixels.h, Math.max(top + 1, Math.floor((lane + 1 - view.y0) * scale_y)));
            const changes = history[lane];
            for (let i = Math.max(0, last_upto(changes, view.t0, (one) => one.t)); i < changes.length; ++i) {
              const {t, state, owner} = changes[i];
              if (t > view.t1) break;
              if ((let_go(state) ? state : 0) !== marks) continue;
              const until = i + 1 < changes.length ? changes[i + 1].t : Infinity;
              const left = Math.max(0, Math.floor((t - view.t0) * scale_t));
              const exact = Math.ceil((until - view.t0) * scale_t);
              const right = Math.min(pixels.w, marks ? Math.max(left + Math.round((state === TAKEN ? 6 : 3) * pixels.ratio), exact) : exact);
              const paint = choose(state, owner, victim);
              for (let y = top; y < bottom; ++y) pixels.data.fill(paint, y * pixels.w + left, y * pixels.w + right);
            }
          }
        }
      },
      decorate: (context, view, box) => {
        draw_ticks(context, view, box, 8);
        const x_of = (t) => box.x + (t - view.t0) / (view.t1 - view.t0) * box.w;
        const chosen = within.filter((one) => one.t >= view.t0 && one.t <= view.t1)
          .sort((a, b) => (b.request === victim) - (a.request === victim) || b.known - a.known).slice(0, lines);
        const short = box.w < 500;
        const labels = chosen.sort((a, b) => a.t - b.t).map((one) => {
          const mine = one.request === victim;
          const text = short ? `${one.request} lost ${plural(one.blocks, 'block')}` :
            `${mine ? one.request === worst.request ? 'worst victim: ' : 'worst here: ' : ''}request ${one.request} lost ` +
            `${plural(one.blocks, 'block')}, ${plural(one.known, 'token')} to recompute`;
          return {x: x_of(one.t), text, mine, wide: context.measureText(text).width + 10};
        });
        context.textBaseline = 'middle';
        context.textAlign = 'left';
        pinfold.labels = arranged(labels, lines, box);
        for (const {x, left, line, text, mine, wide} of pinfold.labels) {
          const y = (lines - 1 - line) * LABEL_HEIGHT + 2;
          context.strokeStyle = colour(mine ? 'victim' : 'taken');
          context.lineWidth = 1;
          context.beginPath();
          context.moveTo(x, y + 18);
          context.lineTo(x, box.y + (mine ? box.h : 0));
          context.setLineDash(mine ? [4, 3] : []);
          context.stroke();
          context.setLineDash([]);
          context.fillStyle = colour('paper');
          context.fillRect(left, y, wide, 18);
          context.strokeRect(left + 0.5, y + 0.5, wide - 1, 17);
          context.fillStyle = colour('ink');
          context.fillText(text, left + 5, y + 9.5);
        }
        draw_counts(context, view, box, box.y + box.h + COUNTS_GAP);
      },
      describe: (t, y) => {
        if (y === Infinity) {
          const [free, held, parked, taken] = counts_at(t);
          return `${blocks_per_lane > 1 ? 'about, ' : ''}at ${at(t, 1)}\nheld: ${whole(held)} blocks\nparked: ${whole(parked)}\n` +
            `parked after a preemption: ${whole(taken)}\nfree: ${whole(free)}`;
        }
        const lane = Math.floor(y);
        if (lane < 0 || lane >= lanes) return null;
        const changes = history[lane];
        const n = last_upto(changes, t, (one) => one.t);
        const {state, owner, t: since} = changes[n];
        const until = n + 1 < changes.length ? changes[n + 1].t : null;
        const who = owner ? `request ${owner - 1}` : unowned(state) ? 'nobody' : 'one of several';
        const stretch = `${since === -Infinity ? 'from before' : `from ${at(since, 1)}`} ` +
          `${until === null ? 'on' : `to ${at(until, 1)}`}`;
        return `block ${whole(1 + lane * blocks_per_lane)} at ${at(t, 1)}\n${STATE_TEXT[STATES[state]]}\n` +
          `${let_go(state) ? `let go by ${who}` : `owner: ${who}`}\n${stretch}`;
      },
    });
  }

  // ---- stacked pool ------------------------------------------------------------------------------

  const LEDGER = [['ledger_committed', 'committed'], ['ledger_in_flight', 'committed-2'], ['ledger_draft_reserve', 'line-6'],
    ['ledger_known_reserve', 'reserved'], ['ledger_surplus', 'taken'], ['ledger_tail_slack', 'victim'],
    ['ledger_parked', 'parked'], ['ledger_cached_idle', 'idle']];
  const BLOCKS = [['blocks_committed', 'committed'], ['blocks_reserved', 'reserved'], ['blocks_shared', 'shared'],
    ['blocks_parked', 'parked']];
  const has_ledger = 'ledger_committed' in column;
  const occurs = ([name]) => rows.some((row) => row[column[name]] > 0);
  const layers = (has_ledger ? LEDGER : BLOCKS).filter(occurs);
  const plain = (name) => name.replace(/^(ledger|blocks)_/, '').replace('_', ' ');

  function draw_ledger() {
    const full = has_ledger ? usable * block_size : usable;
    const unit = has_ledger ? 'positions' : 'blocks';
    $('ledger-title').textContent = has_ledger ? 'Position ledger over time' : 'Pool over time, by state';
    $('ledger-lead').textContent = `${whole(full)} ${unit}, stacked by what they are for; ticks are preemptions. ` +
      'A pixel shows the instant with the most owned blocks in it.';
    for (const [name, colour_name] of layers) $('ledger-key').append(key_item(colour_name, plain(name)));
    $('ledger-key').append(key_item('free', 'free'));
    const bounds = {t0: start, t1: end, y0: full, y1: 0};
    const row_at = (t) => rows[Math.max(0, last_upto(rows, t, (row) => row[0]))];
    // Of each bucket that the timeline was thinned out by, the row with the most owned blocks.
    const bucket_of = (row) => Math.floor(row[0] / recording.timeline.bucket_s);
    const peaks = [];
    for (const row of rows) {
      const last = peaks[peaks.length - 1];
      if (!last || bucket_of(last) !== bucket_of(row)) peaks.push(row);
      else if (row[column.blocks_owned] > last[column.blocks_owned]) peaks[peaks.length - 1] = row;
    }
    const begin_of = (row) => recording.timeline.bucket_s < 1e-6 ? row[0] : bucket_of(row) * recording.timeline.bucket_s;
    new Plane($('ledger'), {
      name: 'ledger', height: 298, strip: 24, bounds, points: rows.length * layers.length, y_title: unit,
      label: 'Pool by state over time, stacked.',
      y_label: (value) => value >= 1e6 ? `${number(value / 1e6, 1)} M` : whole(value),
      paint: (pixels, view) => {
        const colours = layers.map(([, name]) => pixel(colour(name)));
        pixels.data.fill(pixel(colour('free')));
        const per_pixel = (view.t1 - view.t0) / pixels.w;
        let n = Math.max(0, last_upto(peaks, view.t0, begin_of));
        for (let x = 0; x < pixels.w && peaks.length; ++x) {
          const until = view.t0 + (x + 1) * per_pixel;
          let shown = peaks[n];
          while (n + 1 < peaks.length && begin_of(peaks[n + 1]) < until) {
            ++n;
            if (begin_of(shown) < until - per_pixel || peaks[n][column.blocks_owned] > shown[column.blocks_owned]) shown = peaks[n];
          }
          let bottom = pixels.h;
          layers.forEach(([name], i) => {
            const top = Math.max(0, bottom - shown[column[name]] / full * pixels.h);
            for (let y = Math.round(top); y < Math.round(bottom); ++y) pixels.data[y * pixels.w + x] = colours[i];
            bottom = top;
          });
        }
      },
      decorate: (context, view, box) => draw_ticks(context, view, box, 20),
      describe: (t) => {
        const row = row_at(t);
        if (!row) return null;
        return `at ${at(row[0], 10)}\n` + layers.map(([name]) => `${plain(name)}: ${whole(row[column[name]])}`).join('\n') +
          `\nof ${whole(full)} ${unit}`;
      },
    });
  }

  // ---- lines over time, by dygraphs --------------------------------------------------------------

  // Its legend sets style attributes, which the policy forbids; ours stands above the chart.
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

  const line_charts = [];
  let syncing = false;
  function sync(source, whole_range) {
    if (syncing) return;
    syncing = true;
    for (const chart of line_charts) {
      if (chart !== source) chart.updateOptions({dateWindow: whole_range ? null : source.xAxisRange()});
    }
    syncing = false;
  }

  /** options: unit, behind each value; fill: shade below the lines; height in pixels; bare: no times below */
  function lines(figure, name, label, series, value_of, options = {}) {
    const {unit} = options;
    const data = rows.map((row) => [row[0], ...series.map(([key]) => value_of(row, key))]);
    if (!data.length) return;
    const readout = el('div', {class: 'readout'});
    const chart_node = el('div', {class: 'chart', tabindex: 0, role: 'img', 'aria-label': label +
      ' Arrow keys move along the line, plus and minus zoom, 0 shows all.'});
    if (options.height) chart_node.style.height = `${options.height}px`;
    figure.append(readout, chart_node);
    const say = (row) => {
      readout.replaceChildren(...series.map(([, text, colour_name], i) => {
        const mark = el('i');
        mark.style.background = `var(--${colour_name})`;
        const value = row ? `: ${number(row[i + 1], 2)}${unit || ''}` : unit ? `,${unit}` : '';
        return el('span', {}, mark, `${text}${value}`);
      }), ...(row ? [el('span', {}, `at ${at(row[0], 10)}`)] : []));
    };
    say(null);
    let selected = null;
    const settings = () => ({
      fillGraph: options.fill === true, fillAlpha: 0.35,
      labels: ['time', ...series.map(([, text]) => text)], colors: series.map(([, , colour_name]) => colour(colour_name)),
      gridLineColor: colour('grid'), axisLineColor: colour('rule'), strokeWidth: options.fill ? 1 : 1.5, stepPlot: true, includeZero: true,
      axisLabelFontSize: 12, highlightCircleSize: 3, animatedZooms: false,
      axes: {x: {drawAxis: !options.bare, axisLabelFormatter: (t, _, __, graph) => at(t, graph.xAxisRange()[1] - graph.xAxisRange()[0])},
        y: {axisLabelFormatter: (value) => Math.abs(value) >= 1e6 ? `${number(value / 1e6, 1)} M` : number(value, 2), axisLabelWidth: 52}},
    });
    const graph = new Dygraph(chart_node, data, {
      ...settings(),
      highlightCallback: (_, x, __, row) => { selected = row; say(data[row]); },
      unhighlightCallback: () => { selected = null; say(null); },
      zoomCallback: () => sync(graph, !graph.isZoomed('x')),
    });
    line_charts.push(graph);
    chart_node.addEventListener('keydown', (event) => {
      const [from, to] = graph.xAxisRange();
      const zoom = (factor) => {
        const centre = selected === null ? (from + to) / 2 : data[selected][0];
        graph.updateOptions({dateWindow: [Math.max(start, centre - (centre - from) * factor), Math.min(end, centre + (to - centre) * factor)]});
        sync(graph, false);
      };
      if (event.key === '+' || event.key === '=') zoom(0.5);
      else if (event.key === '-') zoom(2);
      else if (event.key === '0' || event.key === 'Escape') { graph.resetZoom(); sync(graph, true); }
      else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
        selected = selected === null ? Math.max(0, last_upto(data, (from + to) / 2, (row) => row[0])) :
          Math.max(0, Math.min(data.length - 1, selected + (event.key === 'ArrowLeft' ? -1 : 1)));
        graph.setSelection(selected);
        say(data[selected]);
      } else return;
      event.preventDefault();
    });
    redraws.push(() => { graph.updateOptions(settings()); graph.resize(); });
    pinfold.charts[name] = {points: data.length * series.length, view: () => graph.xAxisRange()};
  }

  // ---- drawings that are as large as their figures -----------------------------------------------

  /** An SVG that is drawn again whenever its width changes. Returns its points to `draw`'s caller. */
  function drawing(figure, name, height, label, draw) {
    keep_drawn(() => {
      const width = Math.max(figure.clientWidth, 200);
      const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': label});
      const points = draw(picture, width, height);
      figure.replaceChildren(picture);
      pinfold.charts[name] = {points};
    });
  }
  const hover = (node, text) => {
    node.addEventListener('pointermove', (event) => show_tip(text, event.clientX, event.clientY));
    node.addEventListener('pointerleave', () => show_tip(null));
    return node;
  };
  const words = (x, y, text, anchor, strong) =>
    svg('text', {x, y, 'text-anchor': anchor || 'start', class: strong ? 'strong' : null}, text);

  function horizontal_axis(picture, from, to, width, bottom, left, right, show) {
    const x = (value) => left + (value - from) / (to - from || 1) * (width - left - right);
    for (const value of ticks(from, to, (width - left - right) / 90)) {
      const edge = value > from + (to - from) * 0.97;
      picture.append(words(edge ? width - right : x(value), bottom + 16, show(value), edge ? 'end' : 'middle'));
    }
    picture.append(svg('line', {class: 'axis', x1: left, x2: width - right, y1: bottom + 0.5, y2: bottom + 0.5}));
    return x;
  }

  function draw_preemptions() {
    const {victims} = requests;
    if (!preemptions.length) {
      $('victims-lead').textContent = 'Nobody was preempted.';
      return;
    }
    const shown = preemptions.length < summary.preemptions ?
      ` The page holds ${whole(preemptions.length)} of them.` : '';
    $('victims-lead').append(`${plural(summary.preemptions, 'preemption')}; ${whole(summary.recomputed_tokens)} tokens were computed ` +
      `again; running sequences sat out ${plural(summary.sat_out, 'step')}.${shown}`);
    drawing($('preemptions'), 'preemptions', 130, 'Preemptions over time.', (picture, width, height) => {
      const bins = Math.max(20, Math.min(100, Math.floor(width / 9)));
      const counts = new Array(bins).fill(0), known = new Array(bins).fill(0);
      for (const one of preemptions) {
        const bin = Math.min(bins - 1, Math.floor((one.t - start) / (end - start) * bins));
        counts[bin] += 1;
        known[bin] += one.known;
      }
      const most = Math.max(...counts, 2), bottom = height - 24, left = 44;
      const x = horizontal_axis(picture, start, end, width, bottom, left, 4, (t) => at(t, end - start));
      for (const value of ticks(0, most, 3).filter((n) => n === Math.floor(n))) {
        const y = bottom - value / most * (bottom - 8);
        picture.append(words(left - 6, y + 4, whole(value), 'end'), svg('line', {class: 'grid', x1: left, x2: width - 4, y1: y, y2: y}));
      }
      counts.forEach((count, i) => {
        if (!count) return;
        const from = start + (end - start) * i / bins, to = start + (end - start) * (i + 1) / bins;
        const tall = count / most * (bottom - 8);
        picture.append(hover(svg('rect', {class: 'bar-taken', x: x(from) + 0.5, y: bottom - tall, height: tall,
          width: Math.max(x(to) - x(from) - 1, 1)}),
        `${at(from, end - start)} to ${at(to, end - start)}\n${plural(count, 'preemption')}\n${whole(known[i])} known tokens`));
      });
      return preemptions.length;
    });
    const table = el('table', {}, el('tr', {}, ...['Worst victims', 'preempted', 'waited as victim', 'computed again', 'blocks at most',
      'prompt + output', 'end to end'].map((name) => el('th', {scope: 'col'}, name))));
    for (const one of victims) {
      table.append(el('tr', {}, ...[`request ${one.request}`, plural(one.preemptions, 'time'), ms(one.preempted_ms),
        `${whole(one.recomputed_tokens)} tokens`, whole(one.blocks_most), `${whole(one.prompt_tokens)} + ${whole(one.output_tokens)}`,
        ms(one.e2el_ms)].map((text) => el('td', {}, text))));
    }
    $('victims').append(table);
    pinfold.charts.victims = {points: victims.length};
  }

  function draw_distributions() {
    const names = {ttft: 'Time to first token', tpot: 'Time per output token', itl: 'Between two tokens', e2el: 'End to end', queue: 'Queue'};
    requests.distributions.itl = recording.inter_token;
    const later = [];
    for (const [metric, title] of Object.entries(names)) {
      const place = el('div');
      $('distributions').append(el('div', {}, el('h3', {}, title), place));
      later.push(() => draw_one(place, metric, title));
    }
    for (const draw of later) draw();  // once all have their width
  }

  function draw_one(place, metric, title) {
    const {samples, ms: values} = requests.distributions[metric];
    if (!samples) {
      place.append(el('p', {class: 'note'}, 'No samples.'));
      return;
    }
    const slo = summary.goodput ? summary.goodput[`${metric}_ms`] : null;
    drawing(place, `cdf-${metric}`, 190, `${title}: distribution.`, (picture, width, height) => {
      const positive = values.filter((value) => value > 0);
      const low = Math.log10(Math.max(Math.min(positive[Math.floor(positive.length * 0.01)] || 1, slo || Infinity), 0.01));
      const high = Math.max(Math.log10(Math.max(positive[positive.length - 1] || 1, slo || 0)), low + 0.1);
      const left = 38, right = 24, top = 8, bottom = height - 24;
      const x = (value) => left + (Math.max(Math.log10(Math.max(value, 1e-9)), low) - low) / (high - low) * (width - left - right);
      const y = (share) => bottom - share * (bottom - top);
      for (const share of [0, 0.5, 0.9, 1]) {
        picture.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(share), y2: y(share)}));
        if (share !== 0.9 || bottom - top > 120) picture.append(words(left - 5, y(share) + 4, `${share * 100}%`, 'end'));
      }
      let last = -Infinity;
      for (let power = Math.ceil(low); power <= high; ++power) {
        for (const digit of high - low > 2.2 ? [1] : [1, 2, 5]) {
          const value = digit * Math.pow(10, power);
          if (Math.log10(value) > high || x(value) < last + 52) continue;
          last = x(value);
          picture.append(svg('line', {class: 'grid', x1: last, x2: last, y1: top, y2: bottom}), words(last, bottom + 16, ms(value), 'middle'));
        }
      }
      const path = values.map((value, i) => `${i ? 'L' : 'M'}${x(value).toFixed(1)} ${y(i / (values.length - 1)).toFixed(1)}`).join('');
      picture.append(svg('path', {class: 'curve', d: path}));
      if (slo) picture.append(svg('line', {class: 'slo', x1: x(slo), x2: x(slo), y1: top, y2: bottom}));
      const quantile = (q) => values[Math.round(q * (values.length - 1))];
      picture.append(hover(svg('rect', {x: left, y: top, width: width - left - right, height: bottom - top, fill: 'transparent'}),
        `${title}, ${plural(samples, metric === 'itl' ? 'gap' : 'request')}\nmedian ${ms(quantile(0.5))}\n90 % within ${ms(quantile(0.9))}\n` +
        `99 % within ${ms(quantile(0.99))}\nlongest ${ms(values[values.length - 1])}` + (slo ? `\nobjective ${ms(slo)}` : '')));
      return values.length;
    });
  }

  const REASONS = [['blocks', 'taken', 'blocks'], ['slot', 'line-4', 'a state slot'], ['fence', 'parked', 'a fence'],
    ['fork', 'shared', 'a waiting fork'], ['run_limit', 'committed-3', 'the run limit'], ['budget', 'committed-2', 'the token budget'],
    ['step', 'reserved', 'the running step to end']];

  function draw_waits() {
    const total = summary.wait_ns_total / 1e9;
    const by_reason = summary.wait_ns_by_reason;
    const used = REASONS.filter(([name]) => by_reason[name] > 0);
    $('waits-lead').append(`All requests together waited ${number(total, 1)} s` + (used.length ? ': ' : '.') +
      used.map(([name, , text]) => `${number(by_reason[name] / 1e9, 1)} s for ${text}`).join(', ') + (used.length ? '.' : ''));
    for (const [, colour_name, text] of used) $('waits-key').append(key_item(colour_name, text));
    const {waits} = requests;
    const bins = waits.blocks.length;
    const sums = waits.blocks.map((_, i) => REASONS.reduce((sum, [name]) => sum + waits[name][i], 0));
    const most = Math.max(...sums);
    if (most > 0) {
      drawing($('waits'), 'waits', 150, 'Waiting by time of arrival and reason.', (picture, width, height) => {
        const bottom = height - 24, left = 52;
        const x = horizontal_axis(picture, waits.from_s, waits.from_s + waits.bin_s * bins, width, bottom, left, 4, (t) => at(t, waits.bin_s * bins));
        for (const value of ticks(0, most, 3)) {
          const y = bottom - value / most * (bottom - 8);
          picture.append(words(left - 6, y + 4, `${number(value, 2)} s`, 'end'), svg('line', {class: 'grid', x1: left, x2: width - 4, y1: y, y2: y}));
        }
        let points = 0;
        for (let i = 0; i < bins; ++i) {
          let y = bottom;
          const from = waits.from_s + i * waits.bin_s;
          for (const [name, colour_name, text] of used) {
            const tall = waits[name][i] / most * (bottom - 8);
            if (!(tall > 0)) continue;
            y -= tall;
            ++points;
            picture.append(hover(svg('rect', {x: x(from) + 0.5, y, height: tall, width: Math.max(x(from + waits.bin_s) - x(from) - 1, 1),
              fill: `var(--${colour_name})`}), `arrived from ${at(from, 1000)} to ${at(from + waits.bin_s, 1000)}\n${number(waits[name][i], 3)} s for ${text}`));
          }
        }
        return points;
      });
    }
    const {longest} = requests;
    $('waterfall-title').hidden = !longest.length;
    if (!longest.length) return;
    const row_height = 17;
    drawing($('waterfall'), 'waterfall', longest.length * row_height + 48, 'The longest waits, request by request.', (picture, width, height) => {
      const left = Math.min(116, width * 0.28), bottom = height - 40;
      const most = Math.max(...longest.map((one) => one.e2el_ms || one.queue_ms));
      const x = horizontal_axis(picture, 0, most, width, bottom, left, 8, ms);
      picture.append(words(left, height - 4, width < 500 ? 'since arrival; pale: served' : 'since arrival; pale: served or waiting for its next token', 'start'));
      longest.forEach((one, i) => {
        const y = 4 + i * row_height;
        picture.append(words(left - 8, y + 12, `request ${one.request}`, 'end', worst && one.request === worst.request));
        const total = one.e2el_ms || one.queue_ms;
        const text = `request ${one.request}, arrived at ${at(one.arrival_s, 10)}\nwaited ${ms(one.queue_ms)}\nfirst token after ${ms(one.ttft_ms)}\n` +
          `end (${one.end}) after ${ms(one.e2el_ms)}\n${plural(one.preemptions, 'preemption')}`;
        const lane = svg('g', {}, svg('rect', {x: left, y: y + 2, height: row_height - 5, width: Math.max(x(total) - left, 1), fill: 'var(--grid)'}));
        let from = 0;
        one.waits_ms.forEach((wait, n) => {
          if (wait > 0) {
            lane.append(svg('rect', {x: x(from), y: y + 2, height: row_height - 5, width: Math.max(x(from + wait) - x(from), 0.5), fill: `var(--${REASONS[n][1]})`}));
          }
          from += wait;
        });
        picture.append(hover(lane, text));
      });
      return longest.length;
    });
  }

  function draw_drafts() {
    const {proposed_by_place: proposed, accepted_by_place: accepted} = recording.drafts;
    if (!proposed.length) {
      $('drafts-lead').textContent = 'No drafts were proposed in this run.';
      return;
    }
    $('drafts-lead').textContent = `${whole(summary.drafts.proposed)} drafts proposed, ${whole(summary.drafts.accepted)} accepted ` +
      `(${percent(100 * summary.drafts.accepted / Math.max(summary.drafts.proposed, 1))}). Accepted share by place in the verify row:`;
    drawing($('drafts'), 'drafts', 30 * proposed.length + 8, 'Acceptance by place.', (picture, width) => {
      proposed.forEach((count, i) => {
        const taken = accepted[i] || 0, y = i * 30, full = Math.max(width - 260, 80);
        picture.append(words(0, y + 19, `place ${i + 1}`, 'start', true),
          svg('rect', {class: 'bar-soft', x: 64, y: y + 5, height: 20, width: full}),
          svg('rect', {class: 'bar', x: 64, y: y + 5, height: 20, width: full * taken / count}),
          words(64 + full + 8, y + 19, `${percent(100 * taken / count)} of ${whole(count)}`));
      });
      return proposed.length;
    });
  }

  const CAUSES = [['ledger_in_flight', 'in flight', 'line-1'], ['ledger_draft_reserve', 'draft reserve', 'line-4'],
    ['ledger_known_reserve', 'known reserve', 'line-5'], ['ledger_surplus', 'surplus', 'line-6'],
    ['ledger_tail_slack', 'tail slack', 'line-3'], ['ledger_parked', 'parked', 'line-2']];

  /** A low chart of its own for each of `series`, below each other. */
  function stacked_lines(figure, name, series, value_of, unit) {
    for (const [i, one] of series.entries()) {
      const place = el('div', {class: 'lines'});
      figure.append(place);
      lines(place, `${name}-${one[0].replace(/^(ledger|blocks)_/, '')}`, `${one[1]} over time.`, [one], value_of,
        {unit, fill: true, height: i + 1 === series.length ? 104 : 84, bare: i + 1 < series.length});
    }
  }

  function draw_fragmentation() {
    const causes = has_ledger ? CAUSES : [['blocks_reserved', 'reserved', 'line-1'], ['blocks_parked', 'parked', 'line-2']];
    const full = has_ledger ? usable * block_size : usable;
    const unit_of = has_ledger ? 'positions' : 'blocks';
    const share = (row, key) => 100 * row[column[key]] / full;
    const most = (key) => rows.reduce((high, row) => Math.max(high, row[column[key]]), 0);
    const parts = summary.fragmentation || {};
    const table = el('table', {}, el('tr', {}, ...['Cause', 'of owned position-time', `most ${unit_of} at once`]
      .map((name) => el('th', {scope: 'col'}, name))));
    for (const [key, text, colour_name] of causes) {
      const mean = parts[key.replace('ledger_', '')];
      const swatch = el('i', {class: 'swatch'});
      swatch.style.background = `var(--${colour_name})`;
      table.append(el('tr', {}, el('td', {}, swatch, text), el('td', {}, typeof mean === 'number' ? `${number(mean, 3)} %` : '-'),
        el('td', {}, `${whole(most(key))} (${percent(100 * most(key) / Math.max(full, 1))})`)));
    }
    $('fragmentation-parts').append(el('div', {class: 'scroll'}, table));
    stacked_lines($('fragmentation'), 'fragmentation', causes.filter(occurs), share, ' % of the pool');
    $('fragmentation-formula').append(...(has_ledger ? [
      el('span', {class: 'formula'}, 'percent in the table = position-time of the cause / position-time of all owned positions'),
      el('span', {class: 'formula'}, 'percent in the charts = positions of the cause at that moment / positions of the pool'),
      el('span', {class: 'formula'}, 'owned = all but cached idle and free; fragmented = owned - committed')] : [
      el('span', {class: 'formula'}, 'reserved = blocks claimed for prompt tokens that no step has computed yet / usable blocks'),
      el('span', {class: 'formula'}, 'parked = blocks in no table that a fence still holds / usable blocks')]),
    'The charts keep the lowest and the highest value of each stretch, so they are full of short peaks; the table has the mean. ' +
      'Blocks need not lie side by side, so no free block is lost between others: external fragmentation is 0 by construction.');
  }

  // ---- words -------------------------------------------------------------------------------------

  function tile(value, label, mood) {
    $('tiles').append(el('div', {class: `tile ${mood || ''}`}, el('b', {}, value), el('span', {}, label)));
  }

  function draw_tiles() {
    const trace = String(summary.trace).split('/').pop();
    document.title = `Pinfold: ${trace}`;
    $('title').textContent = trace;
    $('lead').textContent = `${plural(summary.requests, 'request')} on a pool of ${whole(usable)} blocks of ${plural(block_size, 'position')}, ` +
      `${number(summary.duration_s, 1)} s of simulated time, ${plural(summary.steps, 'step')}`;
    const sound = summary.verdict === 'ok';
    tile(sound ? (summary.saturated ? 'saturated' : 'ok') : summary.verdict, sound && summary.saturated ? 'the queue grew to the end' : 'verdict',
      sound && !summary.saturated ? 'good' : 'bad');
    tile(`${whole(summary.completed)}`, `completed of ${whole(summary.requests)}`, summary.completed === summary.requests ? '' : 'bad');
    if (summary.request_throughput !== null) {
      tile(number(summary.request_throughput, 2), 'requests per second');
      tile(whole(summary.output_throughput), 'output tokens per second');
    }
    if (summary.request_goodput !== null && summary.goodput) {
      const missed = summary.goodput.requests < summary.completed;
      tile(number(summary.request_goodput, 2), `good requests per second (${whole(summary.goodput.requests)} of ${whole(summary.completed)})`,
        missed ? 'bad' : 'good');
    }
    tile(ms(summary.p50_ttft_ms), `TTFT median, p99 ${ms(summary.p99_ttft_ms)}`);
    tile(ms(summary.p50_tpot_ms), `TPOT median, p99 ${ms(summary.p99_tpot_ms)}`);
    tile(ms(summary.p99_queue_ms), 'queue p99');
    tile(whole(summary.preemptions), `preemptions, ${whole(summary.recomputed_tokens)} tokens again`, summary.preemptions ? 'bad' : 'good');
    tile(percent(100 * summary.blocks.peak_owned / Math.max(usable, 1)), `blocks owned at most, ${percent(100 * (summary.blocks.mean_owned || 0) / Math.max(usable, 1))} in the mean`,
      summary.blocks.peak_owned === usable ? 'bad' : '');
    if (typeof summary.fragmentation_percent === 'number') tile(percent(summary.fragmentation_percent), 'of owned memory holds no committed row');
    pinfold.charts.tiles = {points: $('tiles').childElementCount};
  }

  function draw_words() {
    const facts = [['version', summary.version], ['trace', summary.trace], ['trace digest', summary.trace_digest],
      ['configuration digest', summary.config_digest], ['seed', summary.seed], ['digest', summary.digest], ['digest with times', summary.digest_timed],
      ['device', summary.device && summary.device.name], ['events', whole(summary.events)],
      ['to repeat', `pinfold run ${summary.trace} --config config.resolved.json -o DIR`],
      ['timeline', `${whole(recording.timeline.rows)} of ${whole(recording.timeline.instants)} instants, at most ${whole(recording.timeline.rows_max)}; ` +
        'lows and highs are kept'],
      ['block map', `${whole(block_map.overview.columns)} of at most ${whole(block_map.overview.columns_max)} columns; ` +
        `${whole(block_map.focus.changes)} of at most ${whole(block_map.focus.changes_max)} changes`]];
    for (const [name, value] of facts) $('provenance').append(el('dt', {}, name), el('dd', {}, String(value)));
    $('config').textContent = text_of('config').trim();
    $('summary').textContent = text_of('summary').trim();
    if (summary.verdict !== 'ok') $('lead').append(el('span', {}, ` ${summary.verdict}: ${String(summary.verdict_detail).split('\n')[0]}`));
  }

  // ---- all of it ---------------------------------------------------------------------------------

  const by_row = (row, key) => row[column[key]];
  draw_tiles();
  draw_overview();
  draw_focus();
  draw_ledger();
  stacked_lines($('requests'), 'requests', [['running', 'running', 'line-1'], ['waiting', 'waiting', 'line-2'],
    ['preempted_waiting', 'of those waiting, preempted', 'line-4']].filter(([key]) => key !== 'preempted_waiting' || occurs([key])), by_row);
  draw_fragmentation();
  draw_preemptions();
  draw_distributions();
  draw_waits();
  $('copies-lead').textContent = summary.copies.count > 0 ?
    `${plural(summary.copies.count, 'copy').replace('copys', 'copies')}, ${whole(summary.cow_copies)} of them copy-on-write; ${plural(summary.forks, 'fork')}.` :
    'No copies were queued in this run. Parked blocks wait for steps in flight that may still write them.';
  stacked_lines($('copies'), 'copies', [['blocks_parked', 'parked blocks', 'line-2'], ['copies', 'copies queued so far', 'line-1']]
    .filter(([key]) => key !== 'copies' || summary.copies.count > 0), by_row);
  draw_drafts();
  const slots = [['state_slots', 'state slots', 'line-1'], ['draft_slots', 'draft slots', 'line-3']]
    .filter(([key]) => rows.some((row) => row[column[key]] > 0));
  $('slots-lead').textContent = slots.length ? `At most ${whole(summary.slots.peak_owned)} of ${whole(summary.slots.usable)} state slots were owned.` :
    'The model has no state slots, and there were no drafts.';
  stacked_lines($('slots'), 'slots', slots, by_row);
  draw_words();

  let waiting = null;
  const redraw = () => { for (const draw of redraws) draw(); };
  window.addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  pinfold.ready = true;
})();
