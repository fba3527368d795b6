import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { rotateMasterKey } from '../../src/commands/rotate-key.ts'
import { startApp } from '../support/start-app.ts'

const parent = mkdtempSync(join(tmpdir(), 'hyperplane-rotation-'))
after(() => rmSync(parent, { recursive: true, force: true }))
const data = join(parent, 'data')

const aKey = (name: string): string => {
  const file = join(parent, name)
  writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return file
}
const [first, second, other] = [aKey('first'), aKey('second'), aKey('other')]

/** The remembered answer to this request is sealed. */
const asked = { body: { key: 'sealed', value: 'answer' }, requestId: randomUUID() }
const ask = async (masterKeyFile?: string): Promise<boolean | undefined> => {
  const app = await startApp({ folder: data, config: { seed: 'empty', masterKeyFile } })
  try {
    const answer = await app.call('POST', '/platform/v4.3/config/categories', asked)
    assert.equal(answer.status, 201)
    return answer.replayed
  } finally {
    await app.close()
  }
}
before(() => ask())

test('only the new key opens the data, and secrets that were sealed before still open', async () => {
  assert.match(await rotateMasterKey({ data, newMasterKeyFile: first }), /start with --master-key-file .*first/)
  await assert.rejects(ask(), /master key/)
  assert.equal(await ask(first), true)
})

test('a repeated rotation succeeds without a change, whichever key is named as the old one', async () => {
  await rotateMasterKey({ data, newMasterKeyFile: first })
  await rotateMasterKey({ data, masterKeyFile: other, newMasterKeyFile: first })
  assert.equal(await ask(first), true)
})

test('a wrong old key or a missing new one is refused and changes nothing', async () => {
  await assert.rejects(rotateMasterKey({ data, masterKeyFile: other, newMasterKeyFile: second }), /master key/)
  await assert.rejects(
    rotateMasterKey({ data, masterKeyFile: first, newMasterKeyFile: join(parent, 'none') }),
    /missing/,
  )
  assert.equal(await ask(first), true)
})

test('rotates from any key to any other, including the one in the folder', async () => {
  await rotateMasterKey({ data, masterKeyFile: first, newMasterKeyFile: second })
  assert.equal(await ask(second), true)
  await rotateMasterKey({ data, masterKeyFile: second, newMasterKeyFile: join(data, 'master.key') })
  assert.equal(await ask(), true)
})

test('refuses a folder in use, and a folder without data', async () => {
  const app = await startApp({ folder: data, config: { seed: 'empty' } })
  try {
    await assert.rejects(rotateMasterKey({ data, newMasterKeyFile: first }), /in use by another instance/)
  } finally {
    await app.close()
  }
  await assert.rejects(rotateMasterKey({ data: join(parent, 'nothing'), newMasterKeyFile: first }), /holds no data/)
})
