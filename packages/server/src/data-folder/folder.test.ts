import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StartRefusal } from '../core/start-refusal.ts'
import { type DataFolder, openDataFolder, readBackupKey, readMasterKey, wrongMasterKey } from './folder.ts'

let parent: string
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-folder-'))
})
after(() => rmSync(parent, { recursive: true }))

const newPath = () => join(mkdtempSync(join(parent, 'case-')), 'nested', 'data')

function inFolder(use: (folder: DataFolder) => void): void {
  const folder = openDataFolder(newPath())
  try {
    use(folder)
  } finally {
    folder.close()
  }
}

const refusedWith = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartRefusal, String(error))
  assert.match(error.message, message)
  assert.doesNotMatch(error.message, /\n/)
  return true
}

test('creates the folder for its owner only', { skip: process.platform === 'win32' && 'Windows has no modes' }, () => {
  inFolder(({ path }) => assert.equal(statSync(path).mode & 0o777, 0o700))
})

test('refuses a second instance until the first has closed', () => {
  const path = newPath()
  const first = openDataFolder(path)
  assert.throws(() => openDataFolder(path, 0), refusedWith(/is in use by another instance: stop that one, or choose/))
  first.close()
  openDataFolder(path, 0).close()
})

const holder = `
  const { openDataFolder } = await import(${JSON.stringify(new URL('./folder.ts', import.meta.url).href)})
  // Garbage collection of the folder would release its lock.
  globalThis.held = openDataFolder(process.argv[1], 0)
  console.log('locked')
  setInterval(() => {}, 1000)`

test('refuses a folder that another process has locked, until that process is killed', async () => {
  const path = newPath()
  const other = spawn(process.execPath, ['--input-type=module', '-e', holder, path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(other, 'exit')
  try {
    await once(other.stdout, 'data')
    assert.throws(() => openDataFolder(path, 0), refusedWith(/in use by another instance/))
  } finally {
    other.kill('SIGKILL')
  }
  await ended
  openDataFolder(path, 0).close()
})

test('refuses a folder that cannot be created', () => {
  const file = join(mkdtempSync(join(parent, 'case-')), 'file')
  writeFileSync(file, '')
  assert.throws(() => openDataFolder(file), refusedWith(/cannot be written \(EEXIST\): correct its permissions/))
  assert.throws(() => openDataFolder(join(file, 'data')), refusedWith(/cannot be written \(ENOTDIR\)/))
})

test('refuses a folder without write permission', () => {
  const path = newPath()
  openDataFolder(path).close()
  chmodSync(path, 0o500)
  chmodSync(parent, 0o755)
  // The superuser ignores permissions: act as another user.
  const isSuperuser = process.getuid?.() === 0
  if (isSuperuser) process.seteuid?.(65_534)
  try {
    assert.throws(() => openDataFolder(path), refusedWith(/cannot be written \(EACCES\)/))
  } finally {
    if (isSuperuser) process.seteuid?.(0)
  }
  chmodSync(path, 0o700)
})

test('generates a master key of 32 bytes that only its owner can read, and reads it again', () => {
  inFolder((folder) => {
    const generated = readMasterKey(folder, undefined, true)
    assert.equal(generated.path, join(folder.path, 'master.key'))
    assert.equal(generated.key.length, 32)
    if (process.platform !== 'win32') assert.equal(statSync(generated.path).mode & 0o777, 0o600)
    assert.deepEqual(readMasterKey(folder, undefined, false), generated)
  })
})

test('a configured master key file is read instead, and never generated', () => {
  inFolder((folder) => {
    const file = join(folder.path, 'elsewhere.key')
    assert.throws(
      () => readMasterKey(folder, file, true),
      refusedWith(/elsewhere\.key is missing: put it back, or name/),
    )
    writeFileSync(file, Buffer.alloc(32, 7).toString('base64'))
    assert.deepEqual(readMasterKey(folder, file, true), { key: Buffer.alloc(32, 7), path: file })
  })
})

test('refuses a missing master key beside a store', () => {
  inFolder((folder) =>
    assert.throws(() => readMasterKey(folder, undefined, false), refusedWith(/master\.key is missing/)),
  )
})

test('refuses a master key that is not 32 bytes in base64', () => {
  inFolder((folder) => {
    const file = join(folder.path, 'bad.key')
    const base64 = Buffer.alloc(32, 7).toString('base64')
    for (const text of ['', 'secret', Buffer.alloc(16).toString('base64'), `${base64}AAAA`, `!${base64}`]) {
      writeFileSync(file, text)
      assert.throws(
        () => readMasterKey(folder, file, true),
        refusedWith(/bad\.key is not 32 bytes in base64: put the right/),
      )
      assert.equal(readFileSync(file, 'utf8'), text)
    }
  })
})

test('the refusal of a wrong master key names the key and the folder, not the key itself', () => {
  inFolder((folder) => {
    const masterKey = readMasterKey(folder, undefined, true)
    const { message } = wrongMasterKey(folder, masterKey)
    assert.match(
      message,
      /is not the one that the data folder .+ was made with: put that one back, or name its file with/,
    )
    assert.ok(!message.includes(masterKey.key.toString('base64')))
  })
})

test('generates a backup key of 32 bytes that only its owner can read, reports it as new once, and reads it again', () => {
  inFolder((folder) => {
    const { key, path = '', isNew } = readBackupKey(folder, {})
    assert.deepEqual([path, key.length, isNew], [join(folder.path, 'backup.key'), 32, true])
    if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.deepEqual(readBackupKey(folder, {}), { key, path, isNew: false })
    assert.notDeepEqual(key, readMasterKey(folder, undefined, true).key)
  })
})

test('a backup key from the environment is used; a malformed one is refused without repeating it', () => {
  inFolder((folder) => {
    const text = Buffer.alloc(32, 5).toString('base64')
    assert.deepEqual(readBackupKey(folder, { text }), { key: Buffer.alloc(32, 5), isNew: false })
    assert.throws(
      () => readBackupKey(folder, { text: 'mistyped' }),
      refusedWith(/HYPERPLANE_BACKUP_KEY is not 32 bytes/),
    )
    assert.throws(
      () => readBackupKey(folder, { text: 'mistyped' }),
      (error: Error) => !error.message.includes('mistyped'),
    )
    const file = join(folder.path, 'elsewhere.key')
    assert.throws(() => readBackupKey(folder, { file }), refusedWith(/elsewhere\.key is missing: put it back, or name/))
  })
})
