// An extension of JupyterLab for the lessons in the browser. File › Download gives a notebook the name
// under which it is handed in; JupyterLite's own command puts the folder's name before it. And where
// Python cannot be fetched, a sentence says so; JupyterLab would say that the kernel is "Unknown".

(function () {
  const command = 'proflab:download';
  const runtime = new URL('RUNTIME', location.href); // lite.py puts the address of pyodide.js here

  async function download(app) {
    const context = app.shell.currentWidget.context;
    await context.save();
    const file = await app.serviceManager.contents.get(context.path, { content: true });
    if (file.format === 'base64') return app.commands.execute('docmanager:download');
    const isText = typeof file.content === 'string';
    const text = isText ? file.content : JSON.stringify(file.content, null, 1) + '\n';
    const link = document.createElement('a');
    link.download = context.path.split('/').pop();
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  async function tellIfUnreachable() {
    const answer = await fetch(runtime, { method: 'HEAD', mode: 'no-cors' }).catch(() => undefined);
    if (answer && (answer.ok || answer.type === 'opaque')) return;
    const note = document.createElement('p');
    note.setAttribute('role', 'alert');
    note.style.cssText = 'position: fixed; inset: auto 0 0 0; z-index: 10000; margin: 0; padding: 0.6em 1em; '
      + 'background: #b84a00; color: #fff; font: 15px/1.4 system-ui, sans-serif;';
    note.textContent = `Python could not be fetched from ${runtime.host}, so no cell can run: this computer is `
      + 'offline, or its network does not let that address through. What you write is kept; reload the page '
      + 'when the address can be reached.';
    document.body.append(note);
  }

  // As proflab/lesson/plot.py says it below each picture that a cell draws, and here from the beginning.
  function drawPicturesLightInTheDark() {
    const style = document.createElement('style');
    style.textContent = '[data-jp-theme-light=false] .jp-RenderedMarkdown img '
      + '{ filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen; }';
    document.head.append(style);
  }

  const plugin = {
    id: 'proflab:plugin',
    autoStart: true,
    activate: app => {
      app.commands.addCommand(command, {
        label: 'Download',
        isEnabled: () => Boolean(app.shell.currentWidget && app.shell.currentWidget.context),
        execute: () => download(app),
      });
      drawPicturesLightInTheDark();
      tellIfUnreachable();
    },
  };

  // What JupyterLab asks of an extension that is loaded while it starts.
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.proflab = {
    init: () => undefined,
    get: async () => () => ({ __esModule: true, default: [plugin] }),
  };
})();
