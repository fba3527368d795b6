import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import fc from 'fast-check'
import {
  and,
  anyOf,
  checkFilter,
  checkOrderby,
  equals,
  evaluateFilter,
  not,
  or,
  parseFilter,
  parseOrderby,
  predicateOf,
  resolvePath,
  sortBy,
  type TypedFilter,
} from '../odata/index.ts'
import { Machine, machineFields } from '../odata/test-kind.ts'
import { compileFilter, compileOrderby, type QueryTarget } from './compile-query.ts'
import { registerFunctions, sqliteDialect } from './sqlite/dialect.ts'

const rules = { fields: machineFields, schema: Machine }
const check = (text: string): TypedFilter => checkFilter(parseFilter(text), rules)

/** Some fields have columns and some have none; one column is named like a column of json_each. */
const columns = new Map([
  ['extId', 'ext_id'],
  ['name', 'name'],
  ['sizeBytes', 'value'],
  ['isOn', 'type'],
  ['createdTime', 'created_time'],
  ['state', 'key'],
  ['owner/name', 'owner_name'],
  ['parentTask/extId', 'parent_task'],
])
const target: QueryTarget = { columns, dialect: sqliteDialect, table: 'machine' }
const unindexed = { ...target, columns: new Map<string, string>() }

const database = new DatabaseSync(':memory:')
after(() => database.close())
registerFunctions(database)
database.exec(`CREATE TABLE machine (id INTEGER PRIMARY KEY, ext_id TEXT, name TEXT, value INTEGER, type INTEGER,
  created_time TEXT, key TEXT, owner_name TEXT, parent_task TEXT, document TEXT NOT NULL);
  CREATE INDEX machine_name ON machine (name)`)
const insert = database.prepare('INSERT INTO machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')

function store(documents: readonly any[]): void {
  database.exec('DELETE FROM machine')
  documents.forEach((document, index) => {
    const { extId, name, sizeBytes, isOn, createdTime, state, owner, parentTask } = document
    const values = [
      extId?.toLowerCase(),
      name,
      sizeBytes,
      isOn,
      createdTime,
      state,
      owner?.name,
      parentTask?.extId?.toLowerCase(),
    ]
    const bound = values.map((value) => (typeof value === 'boolean' ? Number(value) : (value ?? null)))
    insert.run(index, ...bound, JSON.stringify(document))
  })
}

function inDatabase(filter: TypedFilter, to: typeof target): (boolean | null)[] {
  const { sql, parameters } = compileFilter(filter, to)
  const rows = database.prepare(`SELECT ${sql} AS holds FROM machine ORDER BY id`).all(...parameters)
  return rows.map(({ holds }) => (holds === null ? null : holds === 1))
}

const uuids = ['aaaaaaaa-0000-4000-8000-000000000001', 'AAAAAAAA-0000-4000-8000-000000000002']
const instants = ['2026-01-31T08:00:00.000000Z', '2026-01-31T08:00:00.000001Z', '2026-02-01T00:00:00.000000Z']
const texts = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'A',
    'ab',
    'abc',
    'b',
    "a'b",
    '%',
    '_',
    '\u00e9',
    '\u00c9',
    '\u00df',
    'SS',
    '\u0130',
    ' a ',
    '\u00a0a',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{1F600}',
    '\u{10FFFF}',
    uuids[0]!,
  ),
  fc.string({ unit: fc.constantFrom('a', 'b', 'B', '\u{1F600}', '\uffff', ' '), maxLength: 4 }),
)
const numbers = fc.constantFrom(-1, 0, 1, 5, 5.5, 9007199254740991)
const integers = fc.constantFrom(-1, 0, 1, 5, 9007199254740991)

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null | undefined> =>
  fc.oneof({ weight: 1, arbitrary: fc.constantFrom(null, undefined) }, { weight: 4, arbitrary: value })
const listOf = <T>(value: fc.Arbitrary<T>) => maybe(fc.array(value, { maxLength: 3 }))

const disk = fc.record({
  name: maybe(texts),
  sizeBytes: maybe(integers),
  isBoot: maybe(fc.boolean()),
  image: maybe(fc.record({ extId: maybe(fc.constantFrom(...uuids)) })),
  labels: listOf(texts),
  parts: listOf(fc.record({ name: maybe(texts), count: maybe(integers) })),
})
const machine = fc.record({
  extId: fc.constantFrom(...uuids),
  name: maybe(texts),
  description: maybe(texts),
  sizeBytes: maybe(integers),
  ratio: maybe(numbers),
  isOn: maybe(fc.boolean()),
  createdTime: maybe(fc.constantFrom(...instants)),
  startedTime: maybe(fc.constantFrom(...instants)),
  state: maybe(fc.constantFrom('OFF', 'ON', 'PAUSED')),
  owner: maybe(fc.record({ extId: maybe(fc.constantFrom(...uuids)), name: maybe(texts) })),
  parentTask: maybe(fc.record({ extId: maybe(fc.constantFrom(...uuids)) })),
  clusterExtIds: listOf(fc.constantFrom(...uuids)),
  tags: listOf(maybe(texts).map((tag) => tag ?? null)),
  roles: listOf(fc.constantFrom('LEADER', 'MEMBER')),
  disks: listOf(disk),
  source: maybe(
    fc.oneof(fc.record({ url: maybe(texts) }), fc.record({ imageExtId: maybe(fc.constantFrom(...uuids)) })),
  ),
  anyValue: maybe(fc.jsonValue({ maxDepth: 1 })),
})

const literal = {
  text: texts.map((value) => `'${value.replaceAll("'", "''")}'`),
  id: fc.constantFrom(uuids[0]!, `'${uuids[1]}'`, `"${uuids[1]!.toLowerCase()}"`, `'none'`),
  number: numbers.map(String),
  boolean: fc.constantFrom('true', 'false'),
  instant: fc.constantFrom(...instants, '2026-01-31T10:00:00+02:00').map((value) => `'${value}'`),
  state: fc.constantFrom(`'ON'`, `Any.State'OFF'`, `'nothing'`),
}
const operator = fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le')
const equality = fc.constantFrom('eq', 'ne')
const orNull = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant('null') }, { weight: 6, arbitrary: value })
const phrase = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((words) => words.join(' '))

function conditions(fields: {
  text: string[]
  id: string[]
  number: string[]
  boolean: string[]
}): fc.Arbitrary<string> {
  const from = (names: string[]): fc.Arbitrary<string> => fc.constantFrom(...names)
  const textual = fc.oneof(
    { weight: 4, arbitrary: from(fields.text) },
    {
      weight: 1,
      arbitrary: phrase(fc.constantFrom('tolower(', 'toupper(', 'trim('), from(fields.text), fc.constant(')')),
    },
  )
  return fc.oneof(
    phrase(textual, operator, orNull(fc.oneof(literal.text, from(fields.text)))),
    phrase(
      fc.constantFrom('contains(', 'startswith(', 'endswith('),
      textual,
      fc.constant(','),
      orNull(fc.oneof(literal.text, from(fields.text))),
      fc.constant(')'),
    ),
    phrase(fc.constant('length('), textual, fc.constant(')'), operator, orNull(literal.number)),
    phrase(from(fields.id), operator, orNull(fc.oneof(literal.id, from([...fields.id, ...fields.text])))),
    phrase(from(fields.number), operator, orNull(fc.oneof(literal.number, from(fields.number)))),
    phrase(from(fields.boolean), equality, orNull(literal.boolean)),
    from(fields.boolean),
    phrase(
      textual,
      fc.constant('in'),
      fc.array(orNull(literal.text), { minLength: 1, maxLength: 3 }).map((all) => `(${all.join()})`),
    ),
    phrase(
      from(fields.number),
      fc.constant('in'),
      fc.array(orNull(literal.number), { minLength: 1, maxLength: 3 }).map((all) => `(${all.join()})`),
    ),
  )
}

function combined(plain: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: plain },
    { weight: 2, arbitrary: plain.map((text) => `not (${text})`) },
    { weight: 2, arbitrary: phrase(plain, fc.constantFrom('and', 'or'), plain) },
    {
      weight: 1,
      arbitrary: phrase(fc.constant('not ('), plain, fc.constantFrom('and', 'or'), plain, fc.constant(')')),
    },
  )
}

const ofDisk = combined(
  conditions({
    text: ['d/name', 'd/labels', 'name'],
    id: ['d/image/extId', 'extId'],
    number: ['d/sizeBytes', 'd/parts/count', 'sizeBytes'],
    boolean: ['d/isBoot', 'isOn'],
  }),
)
const filters = combined(
  fc.oneof(
    {
      weight: 4,
      arbitrary: conditions({
        text: ['name', 'description', 'owner/name', 'tags', 'disks/name', 'source/url'],
        id: ['extId', 'owner/extId', 'parentTask', 'clusterExtIds', 'source/imageExtId'],
        number: ['sizeBytes', 'ratio', 'disks/sizeBytes', 'disks/parts/count'],
        boolean: ['isOn'],
      }),
    },
    {
      weight: 1,
      arbitrary: phrase(
        fc.constantFrom('createdTime', 'startedTime'),
        operator,
        orNull(fc.oneof(literal.instant, fc.constant('createdTime'))),
      ),
    },
    {
      weight: 1,
      arbitrary: phrase(
        fc.constantFrom('state', 'roles'),
        equality,
        orNull(literal.state.filter((text) => !text.startsWith('Any'))),
      ),
    },
    { weight: 1, arbitrary: phrase(fc.constant('state'), equality, orNull(literal.state)) },
    { weight: 1, arbitrary: phrase(fc.constantFrom('anyValue'), equality, fc.constant('null')) },
    {
      weight: 2,
      arbitrary: phrase(
        fc.constantFrom('disks/any', 'disks/all'),
        ofDisk.map((body) => `(d:${body})`),
      ),
    },
    {
      weight: 1,
      arbitrary: phrase(
        fc.constantFrom('disks/any(d:d/parts/', 'disks/all(d:d/parts/'),
        fc.constantFrom('any', 'all'),
        fc.constantFrom('(p:p/count gt 1', '(p:contains(p/name,d/name)', '(p:p/count eq d/sizeBytes'),
        fc.constant('))'),
      ).map((text) => text.replaceAll('/ a', '/a')),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'tags/any()',
        'disks/any()',
        `tags/all(t:startswith(t,'a'))`,
        'clusterExtIds/any(c:c eq owner/extId)',
      ),
    },
  ),
)

test('SQL and evaluation agree on every filter and document', () => {
  fc.assert(
    fc.property(filters, fc.array(machine, { minLength: 1, maxLength: 5 }), (text, machines) => {
      const filter = check(text)
      // As stored: without undefined.
      const documents = machines.map((document) => JSON.parse(JSON.stringify(document)))
      store(documents)
      const expected = documents.map((document) => evaluateFilter(filter, document))
      assert.deepEqual(inDatabase(filter, target), expected, 'with columns')
      assert.deepEqual(inDatabase(filter, unindexed), expected, 'from the document')
      const isTrue = expected.map((value) => value === true)
      assert.deepEqual(documents.map(predicateOf(filter)), isTrue, 'prepared')
    }),
    { numRuns: 1500 },
  )
})

test('a prepared filter of many alternatives equals their evaluation one by one', () => {
  fc.assert(
    fc.property(fc.array(filters, { maxLength: 12 }), fc.array(machine, { maxLength: 5 }), (texts, machines) => {
      const documents = machines.map((document) => JSON.parse(JSON.stringify(document)))
      const pairs = texts.map((text, index) => and(check(text), check(texts[(index * 7) % texts.length] as string)))
      for (const filter of [or(...texts.map(check)), or(...pairs), and(or(...pairs), not(or(...texts.map(check))))]) {
        const isTrue = documents.map((document) => evaluateFilter(filter, document) === true)
        assert.deepEqual(documents.map(predicateOf(filter)), isTrue)
      }
    }),
    { numRuns: 500 },
  )
})

test('SQL and comparison agree on every order', () => {
  const keys = [
    'name',
    'description',
    'sizeBytes',
    'ratio',
    'isOn',
    'createdTime',
    'state',
    'owner/name',
    'owner/extId',
    'parentTask',
    'tags',
    'disks/sizeBytes',
    'disks/parts/count',
  ]
  const orders = fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), fc.constantFrom('', ' desc')), {
    minLength: 1,
    maxLength: 3,
    selector: ([key]) => key,
  })
  fc.assert(
    fc.property(orders, fc.array(machine, { maxLength: 8 }), (order, machines) => {
      const orderby = checkOrderby(parseOrderby(order.map((key) => key.join('')).join()), rules)
      const documents = machines.map((document) => JSON.parse(JSON.stringify(document)))
      store(documents)
      const expected = documents
        .map((document, id) => ({ document, id }))
        .sort((a, b) => sortBy(orderby)(a.document, b.document))
      for (const to of [target, unindexed]) {
        const { terms, parameters } = compileOrderby(orderby, to)
        const rows = database
          .prepare(`SELECT id FROM machine ORDER BY ${[...terms, 'id'].join(', ')}`)
          .all(...parameters)
        assert.deepEqual(
          rows.map((row) => row['id']),
          expected.map(({ id }) => id),
        )
      }
    }),
    { numRuns: 300 },
  )
})

const statements: readonly (readonly [filter: string, sql: string, parameters: readonly unknown[]])[] = [
  [`name eq 'a'`, '"machine"."name" IS ?', ['a']],
  [`name ne null`, '"machine"."name" IS NOT ?', [null]],
  ['sizeBytes gt 5', '("machine"."value" > ? AND "machine"."value" IS NOT NULL)', [5]],
  ['sizeBytes gt null', '0', []],
  [
    `startswith(name,'web')`,
    `("machine"."name" >= ? AND "machine"."name" < ? AND substr("machine"."name", 1, length(?)) = ?)`,
    ['web', 'wec', 'web', 'web'],
  ],
  [`description contains '%'`, `instr(json_extract("machine"."document", '$."description"'), ?) > 0`, ['%']],
  [`name in ('a','b',null)`, '("machine"."name" IS NULL OR "machine"."name" IN (?, ?))', ['a', 'b']],
  ['isOn and not isOn', '("machine"."type" = 1 AND NOT ("machine"."type" = 1))', []],
  [
    `disks/any(d:d/sizeBytes eq sizeBytes)`,
    `EXISTS (SELECT 1 FROM (SELECT value FROM json_each("machine"."document", '$."disks"') WHERE typeof(key) = 'integer') AS e1 WHERE json_extract(e1.value, '$."sizeBytes"') IS "machine"."value")`,
    [],
  ],
  [
    `tags/all(t:t eq 'x')`,
    `NOT EXISTS (SELECT 1 FROM (SELECT value FROM json_each("machine"."document", '$."tags"') WHERE typeof(key) = 'integer') AS e1 WHERE (e1.value IS ?) IS NOT TRUE)`,
    ['x'],
  ],
]

test('binds every value of a request', () => {
  for (const [text, sql, parameters] of statements)
    assert.deepEqual(compileFilter(check(text), target), { sql, parameters }, text)
  const hostile = `'); DROP TABLE machine; --`
  const { sql, parameters } = compileFilter(check(`name eq '${hostile.replaceAll("'", "''")}'`), target)
  assert.equal(sql.includes('DROP'), false)
  assert.deepEqual(parameters, [hostile])
})

test('an index serves equality, ranges and prefixes', () => {
  for (const text of [
    `name eq 'a'`,
    `name gt 'a'`,
    `startswith(name,'a')`,
    `name in ('a','b')`,
    `name startswith 'a' and sizeBytes gt 1`,
  ]) {
    const { sql, parameters } = compileFilter(check(text), target)
    const plan = database.prepare(`EXPLAIN QUERY PLAN SELECT id FROM machine WHERE ${sql}`).all(...parameters)
    assert.match(String(plan[0]?.['detail']), /SEARCH machine USING .*INDEX machine_name/, text)
  }
})

test('large scopes compile: thousands of values, thousands of alternatives', () => {
  store([
    { extId: uuids[0], name: 'n4999', tags: ['t'] },
    { extId: uuids[0], name: 'other', tags: ['n1', 'n2'] },
  ])
  const names = Array.from({ length: 5000 }, (_, index) => `n${index}`)
  const [name, tags] = [resolvePath(Machine, 'name'), resolvePath(Machine, 'tags')]
  assert.deepEqual(inDatabase(anyOf(name, names), target), [true, false])
  assert.deepEqual(inDatabase(or(...names.map((value) => equals(tags, value))), target), [false, true])
  const alternatives = names.slice(0, 2000).map((value) => and(equals(name, value), equals(tags, 't')))
  assert.deepEqual(inDatabase(or(...alternatives, equals(name, 'n4999')), target), [true, false])
})

test('an id in a collection of references is looked up in table `reference`', () => {
  const references = {
    kind: 'Machine',
    paths: new Map([
      ['clusterExtIds', 'Cluster'],
      ['disks/image/extId', 'Image'],
    ]),
  }
  const [a, b, c] = [1, 2, 3].map((n) => `bbbbbbbb-0000-4000-8000-00000000000${n}`) as [string, string, string]
  store([{ extId: a, clusterExtIds: [b, c] }, { extId: b, disks: [{ image: { extId: c } }] }, { extId: c }])
  database.exec(
    `CREATE TABLE IF NOT EXISTS reference (to_kind TEXT, to_id TEXT, from_kind TEXT, from_id TEXT, path TEXT)`,
  )
  const refer = database.prepare('INSERT INTO reference VALUES (?, ?, ?, ?, ?)')
  for (const id of [b, c]) refer.run('Cluster', id, 'Machine', a, 'clusterExtIds')
  refer.run('Image', c, 'Machine', b, 'disks/image/extId')
  const [clusters, image] = [resolvePath(Machine, 'clusterExtIds'), resolvePath(Machine, 'disks/image/extId')]
  for (const filter of [
    equals(clusters, c),
    anyOf(clusters, [a, c]),
    anyOf(image, [b, c]),
    not(anyOf(clusters, [b])),
    and(equals(clusters, b), equals(clusters, c)),
  ]) {
    assert.ok(compileFilter(filter, { ...target, references }).sql.includes('FROM reference'))
    assert.deepEqual(inDatabase(filter, { ...target, references }), inDatabase(filter, target))
  }
  for (const other of [equals(clusters, null), equals(resolvePath(Machine, 'tags'), 'x')]) {
    assert.ok(!compileFilter(other, { ...target, references }).sql.includes('FROM reference'))
  }
})
