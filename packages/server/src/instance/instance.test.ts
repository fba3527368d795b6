import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pino } from 'pino'
import { configOf } from '../config/config.ts'
import { openDataFolder } from '../data-folder/folder.ts'
import { storeFiles } from '../data-folder/store-files.ts'
import { openInstance } from './instance.ts'
import { createShared } from './process-wide.ts'

/** Changing the journal mode fails while another connection has the file open. */
function isOpen(file: string): boolean {
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA journal_mode = DELETE')
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}

test('an instance that fails to open leaves its store closed, whatever failed', async () => {
  const data = mkdtempSync(join(tmpdir(), 'hyperplane-instance-'))
  const folder = openDataFolder(data)
  try {
    const config = { ...configOf({ data, seed: 'empty', http: true }, data), adminPassword: 'Admin.Passw0rd!' }
    const opening = {
      name: 'default',
      ...{ config, options: { durable: false }, folder, shared: createShared(config), log: pino({ level: 'silent' }) },
      localUrl: () => 'http://localhost',
      exchange: async () => assert.fail('nothing is exchanged'),
    }
    const unresolved = { ...config, seed: { text: 'extends: tiny\nvms: [{ name: a, nics: [no] }]\n' } }
    const failing = [
      { ...opening, config: unresolved },
      { ...opening, whenNew: () => Promise.reject(new Error('the disk is full')) },
      { ...opening, faults: () => assert.fail('of the faults') },
    ]
    for (const one of failing) {
      await assert.rejects(openInstance(one))
      assert.ok(existsSync(storeFiles(data).first))
      assert.equal(isOpen(storeFiles(data).first), false)
    }
    const opened = await openInstance(opening)
    assert.equal(isOpen(storeFiles(data).first), true)
    await opened.close()
  } finally {
    folder.close()
    rmSync(data, { recursive: true })
  }
})
