import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Semaphore } from '../core/concurrency/semaphore.ts'
import { presets } from './presets.ts'
import { readSeed, type SeedSource } from './read-seed.ts'
import { readText } from './read-text.ts'
import { SeedRefusal } from './seed-refusal.ts'

/** `line:column path: message`, each. */
function faultsOf(text: string): string[] {
  try {
    readText('The seed', text)
  } catch (error) {
    assert.ok(error instanceof SeedRefusal, String(error))
    return error.faults.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)
  }
  return []
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('the random seed of a world', () => {
  const randomOf = async (source: SeedSource) => (await readSeed(source)).random

  test('follows from the name of a preset, except for empty, whose worlds all differ', async () => {
    assert.deepEqual(await Promise.all(presets.map(randomOf)), [undefined, 'tiny', 'demo', 'lab', 'large'])
  })

  test('follows from the text: equal texts give equal worlds, different texts do not', async () => {
    const texts = ['vms: 3\n', 'vms: 3\n', 'vms: 4\n']
    const [first, again, other] = await Promise.all(texts.map((text) => randomOf({ text: `extends: tiny\n${text}` })))
    assert.equal(first, again)
    assert.notEqual(first, other)
  })

  test('is the value of random, if the text has one', async () => {
    assert.equal(await randomOf({ text: 'random: dice\n' }), 'dice')
  })
})

test('a seed that extends a preset is a layer after it', async () => {
  const plan = await readSeed({ text: 'extends: lab\nvms: 5\n' })
  assert.deepEqual(
    plan.layers.map(({ name }) => name),
    ['The preset lab', 'The seed'],
  )
  assert.deepEqual([plan.base, plan.layers[1]?.declared], ['empty', { vms: 5 }])
})

test('a file is read like a text, and one that is not there is refused with its name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
  const file = join(folder, 'seed.yaml')
  writeFileSync(file, 'extends: demo\nvms: 7\n')
  assert.deepEqual((await readSeed({ file })).layers[0]?.declared, { vms: 7 })
  writeFileSync(file, 'vms: many\n')
  await assert.rejects(readSeed({ file }), /seed\.yaml: line 1, column 6, vms: expected/)
  await assert.rejects(readSeed({ file: join(folder, 'absent.yaml') }), /absent\.yaml cannot be read \(ENOENT\)/)
  rmSync(folder, { recursive: true })
})

describe('refuses with line and column', () => {
  test('all faults together, in the order of the text', () => {
    const text = `extends: dmo
clusters:
  - name: one
    hots: 3
    hosts: 65
vms:
  - name: 5
    powerState: on
    nics: [net, { subnet: 7 }]
  - vcpus: 2
`
    assert.deepEqual(faultsOf(text), [
      '1:10 extends: expected empty or tiny or demo or lab or large or nothing, found "dmo"; did you mean "demo"?',
      '4:5 clusters[0].hots: is not known here; did you mean "hosts"?',
      '5:12 clusters[0].hosts: expected an integer from 1 to 64, found 65',
      '7:11 vms[0].name: expected text of 1 to 80 characters, found 5: put it in quotes',
      '8:17 vms[0].powerState: expected OFF or ON, found "on"; did you mean "ON"?',
      '9:27 vms[0].nics[1].subnet: expected text of 1 to 255 characters, found 7: put it in quotes',
      '10:5 vms[1]: name is missing',
    ])
  })

  test('text that is not YAML, at every faulty place', () => {
    const faults = faultsOf('vms: [1\nusers: ]\n')
    assert.ok(faults.length >= 1)
    for (const fault of faults) assert.match(fault, /^\d+:\d+ : is not YAML \(/)
  })

  test('a value of the wrong form', () => {
    assert.deepEqual(faultsOf('vms: { a: 1 }\n'), [
      '1:6 vms: expected an integer from 0 to 1000000 or a list, found a mapping',
    ])
    assert.deepEqual(faultsOf('- a\n'), ['1:1 : expected a mapping, found a list of 1'])
    assert.deepEqual(faultsOf('clusters:\n'), ['1:10 clusters: expected a list, found nothing'])
  })

  test('a duplicate key', () => {
    assert.match(faultsOf('vms: 1\nvms: 2\n')[0] ?? '', /^2:1 : vms is there twice$/)
  })

  test('a count without a placeholder for the number, or with a fixed id', () => {
    const text = `vms:
  - { name: web, count: 3 }
  - { name: 'db-{n}', count: 2, extId: 11111111-1111-4111-8111-111111111111 }
`
    assert.deepEqual(faultsOf(text), [
      '2:13 vms[0].name: expected {n} in it, for the number of each, because of count',
      '3:40 vms[1].extId: expected no id with count: those of several follow from their names',
    ])
  })

  test('fields that need other fields', () => {
    assert.match(faultsOf('extends: nothing\n')[0] ?? '', /^1:10 extends: expected world with it/)
    assert.match(faultsOf('names: { a: b }\n')[0] ?? '', /^1:8 names: expected only with extends: demo/)
  })

  test('aliases that expand beyond the limit, and endless nesting', () => {
    const levels = Array.from({ length: 12 }, (_, level) =>
      level === 0 ? '- &l0 [1]' : `- &l${level} [${Array.from({ length: 12 }, () => `*l${level - 1}`).join(', ')}]`,
    )
    assert.ok(faultsOf(`facts:\n  c:\n    id:\n${levels.map((line) => `      ${line}`).join('\n')}\n`).length > 0)
    assert.ok(faultsOf(`vms: ${'['.repeat(20_000)}`).length > 0)
    assert.match(faultsOf('vms: &all [*all]\n')[0] ?? '', /nested too deeply|found/)
  })
})

describe('exact rows', () => {
  const text = `extends: nothing
world: { tenantId: 11111111-1111-4111-8111-111111111111, time: 2026-03-02T09:00:00Z }
entities:
  Category:
    - {"extId":"11111111-1111-4111-8111-111111111112","key":"Environment","value":"Dev"}
    - {"extId":"11111111-1111-4111-8111-111111111113","key":"Environment","vlaue":"Test"}
    - {"key":"Environment"}
  Categoty:
    - {"extId":"x"}
  Vm:
    - {"extId":"11111111-1111-4111-8111-111111111114","name":"a","memorySizeBytes":"4"}
    - {"extId":
facts:
  hardware.clusters:
    "a: b": {"settings":{}}
vms: 1
`
  const expected = [
    '6:75 entities.Category: vlaue is not known here; did you mean "value"?',
    '7:7 entities.Category: extId is missing',
    '9:7 entities.Categoty: Categoty is no kind that a seed holds; did you mean "Category"?',
    '11:84 entities.Vm: memorySizeBytes: expected an integer of at least 1, found "4"',
  ]

  test('are validated one by one, and the text after them keeps its positions', () => {
    const broken = text.replace('    - {"extId":\n', '').replace('vms: 1\n', 'vmx: 1\n')
    // Faults of form come before faults of rows.
    assert.match(faultsOf(broken)[0] ?? '', /^15:1 vmx: is not known here/)
    assert.deepEqual(faultsOf(broken.replace('vmx', 'vms')), expected)
  })

  test('on an unterminated line are not rows, and so not YAML', () => {
    assert.match(faultsOf(text)[0] ?? '', /is not YAML/)
  })

  test('may also be written as plain YAML', async () => {
    const row = { extId: '11111111-1111-4111-8111-111111111112', key: 'Environment', value: 'Dev' }
    const byHand =
      'entities:\n  Category:\n  - extId: 11111111-1111-4111-8111-111111111112\n    key: Environment\n    value: Dev\n'
    const byMachine = `entities:\n  Category:\n    - ${JSON.stringify(row)}\n`
    for (const written of [byHand, byMachine]) {
      const found = await all((await readSeed({ text: written })).rows.entities())
      assert.deepEqual(
        found.map(({ group, value }) => [group, value()]),
        [['Category', row]],
      )
    }
  })

  test('of facts keep ids that need quotes in YAML', async () => {
    const written = 'facts:\n  content.files:\n    "a: \\"b\\"/c": {"url":"https://x/#y"}\n'
    const [fact] = await all((await readSeed({ text: written })).rows.facts())
    assert.deepEqual([fact?.group, fact?.id, fact?.value()], ['content.files', 'a: "b"/c', { url: 'https://x/#y' }])
  })

  const row = {
    extId: '11111111-1111-4111-8111-111111111114',
    name: 'a/b',
    numSockets: 0,
    powerState: 'ON',
    createTime: '2026-03-02T09:00:00Z',
    categories: [{ extId: 'ABC' }],
    nics: [{ extId: '11111111-1111-4111-8111-111111111115', backingInfo: { macAddress: '50:6b' } }],
    bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootOrder: ['TAPE'] },
  }

  test('have values that the contract allows: all others are reported with their positions', () => {
    const line = `    - ${JSON.stringify(row)}`
    const placeOf = (value: string): string => `3:${line.indexOf(value) + 1} entities.Vm:`
    assert.deepEqual(faultsOf(`entities:\n  Vm:\n${line}\n`), [
      `${placeOf('0,')} numSockets: expected an integer of at least 1, found 0`,
      `${placeOf('"2026')} createTime: expected a time such as 2026-03-02T09:00:00.000000Z, found "2026-03-02T09:00:00Z"`,
      `${placeOf('"ABC"')} categories[0].extId: expected a UUID in lower case, found "ABC"`,
      `${placeOf('"50:6b"')} nics[0].backingInfo.macAddress: expected text like ^(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$, found "50:6b"`,
      `${placeOf('"TAPE"')} bootConfig.bootOrder[0]: expected CDROM or DISK or NETWORK, found "TAPE"`,
    ])
  })

  test('in plain YAML are reported with their positions too', () => {
    const text = `entities:
  Vm:
    - extId: 11111111-1111-4111-8111-111111111114
      numSockets: 0
      categories:
        - extId: ABC
`
    assert.deepEqual(
      faultsOf(text).map((fault) => fault.split(' ')[0]),
      ['4:19', '6:18'],
    )
  })
})

describe('a long seed is read by a thread', () => {
  const row = (index: number) => ({
    extId: `11111111-1111-4111-8111-${String(index).padStart(12, '0')}`,
    key: 'Größe',
    value: `${index}`,
  })
  const rows = Array.from({ length: 500 }, (_, index) => row(index))
  const facts = rows.map(({ extId }) => `    ${JSON.stringify(extId)}: {"url":"https://x/ü"}\r\n`).join('')
  const text = `# Ä\nentities:\n  Category:\n${rows.map((each) => `    - ${JSON.stringify(each)}\n`).join('')}facts:\n  content.files:\n${facts}vms: 2\n`

  test('to the same plan, from a text and from a file', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'seed.yaml')
    writeFileSync(file, text)
    for (const source of [{ text }, { file }]) {
      const plan = await readSeed(source)
      assert.deepEqual(plan.layers[0]?.declared, { vms: 2 })
      assert.deepEqual(plan.layers[0]?.placeOf('vms'), { line: 1006, column: 6 })
      const found = await all(plan.rows.entities())
      assert.deepEqual(
        found.map(({ value }) => value()),
        rows,
      )
      assert.deepEqual([found.at(-1)?.line, found.at(-1)?.column], [503, 7])
      const last = (await all(plan.rows.facts())).at(-1)
      assert.deepEqual([last?.id, last?.line, last?.value()], [rows.at(-1)?.extId, 1005, { url: 'https://x/ü' }])
    }
  })

  test('and is read again from its file when the world is filled: a file changed since then is refused', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-seed-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'seed.yaml')
    writeFileSync(file, text)
    const plan = await readSeed({ file })
    writeFileSync(file, text.replaceAll('"key"', 'key:'))
    await assert.rejects(all(plan.rows.entities()), /seed\.yaml was changed while it was read/)
  })

  test('to the same refusal', async () => {
    const broken = text.replace('"key":"Größe","value":"499"', '"key":7,"value":"499"')
    await assert.rejects(readSeed({ text: broken }), (error: unknown) => {
      assert.ok(error instanceof SeedRefusal, String(error))
      const [{ line, column, message } = assert.fail()] = error.faults
      assert.deepEqual([line, column, message], [503, 61, 'key: expected text, found 7'])
      return true
    })
  })

  test('without blocking the event loop', async () => {
    let turns = 0
    let reading = true
    const counted = (async () => {
      for (; reading; turns++) await new Promise(setImmediate)
    })()
    await readSeed({ text })
    reading = false
    await counted
    assert.ok(turns > 10, `${turns} turns`)
  })

  test('when a thread is free; short seeds need none', async () => {
    const threads = new Semaphore(1)
    const before = Promise.withResolvers<void>()
    const ended: string[] = []
    const note = (what: string) => () => ended.push(what)
    const inTurn = [
      threads.use(() => before.promise).then(note('before')),
      readSeed({ text }, threads).then(note('long')),
    ]
    await readSeed({ text: 'extends: demo' }, threads).then(note('short'))
    // Reading `text` takes as long as the read that waits.
    await readSeed({ text })
    before.resolve()
    await Promise.all(inTurn)
    assert.deepEqual(ended, ['short', 'before', 'long'])
  })
})
