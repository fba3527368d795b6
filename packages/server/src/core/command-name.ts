/** The commands for messages: an installed package has `hyperplane`, a checkout has npm scripts. */
const isInstalled = import.meta.filename.endsWith('.js')

export const startCommand = isInstalled ? 'hyperplane' : 'npm start --'
export const checkBackupCommand = isInstalled ? 'hyperplane check-backup' : 'npm run check-backup --'
export const rotateKeyCommand = isInstalled ? 'hyperplane rotate-key' : 'npm run rotate-key --'
