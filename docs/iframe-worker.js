/* Browsers refuse workers to a page that was opened from a folder. There the search runs in a hidden frame instead.
   The name of this file keeps the plugin offline from adding a script of the network; the worker of the theme looks for
   the name IFrameWorker in the page around it. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      const inside = (this.inside = frame.contentWindow)
      const load = (source) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          Object.assign(script, { src: source, onload: done, onerror: failed })
          inside.document.documentElement.append(script)
        })
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...sources) => sources.reduce((before, one) => before.then(() => load(one)), Promise.resolve())
      this.ready = load(new URL(url, location).href)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.inside.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
