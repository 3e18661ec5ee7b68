// An extension of JupyterLab for the lessons in the browser: File › Download gives a notebook the name
// under which it is handed in. JupyterLite's own command puts the folder's name before it.

(function () {
  const command = 'proflab:download';

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

  const plugin = {
    id: 'proflab:plugin',
    autoStart: true,
    activate: app => app.commands.addCommand(command, {
      label: 'Download',
      isEnabled: () => Boolean(app.shell.currentWidget && app.shell.currentWidget.context),
      execute: () => download(app),
    }) && undefined,
  };

  // What JupyterLab asks of an extension that is loaded while it starts.
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.proflab = {
    init: () => undefined,
    get: async () => () => ({ __esModule: true, default: [plugin] }),
  };
})();
