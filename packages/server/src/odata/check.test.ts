import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkApply, checkExpand, checkFilter, checkOrderby } from './check.ts'
import { evaluateFilter, groupDocuments, sortBy } from './evaluate.ts'
import { ODataFault } from './fault.ts'
import { parseApply, parseExpand, parseFilter, parseOrderby } from './parse.ts'
import { resolvePath } from './paths.ts'
import { Machine, machineFields } from './test-kind.ts'
import { always, and, anyOf, equals, never, not, or } from './typed-filter.ts'

const rules = { fields: machineFields, schema: Machine }
const check = (text: string) => checkFilter(parseFilter(text), rules)

function faultOf(read: () => unknown): ODataFault {
  try {
    read()
  } catch (error) {
    assert(error instanceof ODataFault, `expected a fault, found ${error}`)
    return error
  }
  throw new assert.AssertionError({ message: 'expected a fault' })
}

const id = (last: number): string => `aaaaaaaa-0000-4000-8000-00000000000${last}`

/** Filter, document, meaning. */
const cases: readonly (readonly [filter: string, document: object, value: boolean | null])[] = [
  // Texts: exact, by code point.
  [`name eq 'a'`, { name: 'a' }, true],
  [`name eq 'A'`, { name: 'a' }, false],
  [`name gt 'Z'`, { name: 'a' }, true],
  [`name lt '\u{1F600}'`, { name: '\uFFFD' }, true],
  [`name ge 'a'`, { name: 'a' }, true],
  [`contains(name,'')`, { name: '' }, true],
  [`contains(name,'%')`, { name: 'abc' }, false],
  [`name contains 'B'`, { name: 'abc' }, false],
  [`startswith(name,'ab') and endswith(name,'bc')`, { name: 'abc' }, true],
  [`contains(name,description)`, { name: 'abc', description: 'b' }, true],
  [`tolower(name) eq '\u00e9'`, { name: '\u00c9' }, true],
  [`toupper(name) eq 'SS'`, { name: '\u00df' }, true],
  [`trim(name) eq 'a b'`, { name: '\u00a0a b\t' }, true],
  [`length(name) eq 2`, { name: 'a\u{1F600}' }, true],
  // Ids: without case; a text that is none matches nothing.
  [`extId eq '${id(1).toUpperCase()}'`, { extId: id(1) }, true],
  [`extId eq ${id(1)}`, { extId: id(1).toUpperCase() }, true],
  [`extId in ("${id(2)}", '${id(1)}')`, { extId: id(1) }, true],
  [`startswith(extId,'AAAA')`, { extId: id(1) }, true],
  [`extId eq 'x'`, { extId: id(1) }, false],
  [`extId ne 'x'`, { extId: id(1) }, true],
  [`extId gt 'x'`, { extId: id(1) }, false],
  [`extId le 'x'`, { extId: id(1) }, false],
  [`extId eq name`, { extId: id(1), name: id(1).toUpperCase() }, true],
  [`parentTask eq '${id(1)}'`, { parentTask: { extId: id(1) } }, true],
  [`parentTask eq 'ZXJnb24=:${id(1)}'`, { parentTask: { extId: id(1) } }, true],
  [`parentTask eq null`, {}, true],
  // Numbers, booleans, instants.
  [`sizeBytes eq 5.0`, { sizeBytes: 5 }, true],
  [`ratio gt 5`, { ratio: 5.5 }, true],
  [`sizeBytes lt ratio`, { sizeBytes: 5, ratio: 5.5 }, true],
  [`isOn`, { isOn: true }, true],
  [`isOn`, {}, null],
  [`isOn eq false`, { isOn: false }, true],
  [`isOn gt false`, { isOn: true }, true],
  [`createdTime eq 2026-01-31T10:00:00+02:00`, { createdTime: '2026-01-31T08:00:00.000000Z' }, true],
  [`createdTime ge '2026-01-31T08:00:00Z'`, { createdTime: '2026-01-31T08:00:00.000000Z' }, true],
  [
    `createdTime lt startedTime`,
    { createdTime: '2026-01-31T08:00:00.000000Z', startedTime: '2026-01-31T08:00:00.000001Z' },
    true,
  ],
  // Enumerations.
  [`state eq Whatever.At.All'ON'`, { state: 'ON' }, true],
  [`state eq 'ON'`, { state: 'ON' }, true],
  [`state eq 'on'`, { state: 'ON' }, false],
  [`state ne 'NONE'`, { state: 'ON' }, true],
  [`state in (X'OFF',null)`, {}, true],
  // Null.
  [`null eq null`, {}, true],
  [`name eq null`, {}, true],
  [`name eq null`, { name: null }, true],
  [`name eq null`, { name: '' }, false],
  [`name ne 'a'`, {}, true],
  [`name eq description`, {}, true],
  [`name gt 'a'`, {}, false],
  [`not (name gt 'a')`, {}, true],
  [`name ge null`, {}, false],
  [`contains(name,'a')`, {}, null],
  [`contains(name,null)`, { name: 'a' }, null],
  [`not contains(name,'a')`, {}, null],
  [`contains(name,'a') or true eq true`, {}, true],
  [`contains(name,'a') or false eq true`, {}, null],
  [`contains(name,'a') and false eq true`, {}, false],
  [`length(name) eq null`, {}, true],
  [`length(name) gt 0`, {}, false],
  [`name in ('a')`, {}, false],
  [`not (name in ('a'))`, {}, true],
  [`name in ('a',null)`, {}, true],
  // Collections.
  [`clusterExtIds eq '${id(2)}'`, { clusterExtIds: [id(1), id(2)] }, true],
  [`clusterExtIds eq '${id(2)}'`, {}, false],
  [`not (clusterExtIds eq '${id(2)}')`, {}, true],
  [`clusterExtIds ne '${id(2)}'`, { clusterExtIds: [id(1), id(2)] }, true],
  [`clusterExtIds eq null`, { clusterExtIds: [] }, false],
  [`disks/name eq 'b'`, { disks: [{}, { name: 'b' }] }, true],
  [`contains(disks/name,'b')`, { disks: [{}, { name: 'abc' }] }, true],
  [`not contains(disks/name,'b')`, { disks: [{}] }, true],
  [`disks/parts/count gt 3`, { disks: [{ parts: [{ count: 1 }] }, { parts: [{ count: 4 }] }] }, true],
  [`disks/name eq tags`, { disks: [{ name: 'a' }], tags: ['b', 'a'] }, true],
  [`tags/any()`, { tags: [] }, false],
  [`tags/any()`, { tags: ['x'] }, true],
  [`tags/any(t:t eq 'x')`, {}, false],
  [`tags/all(t:t eq 'x')`, {}, true],
  [`tags/all(t:startswith(t,'x'))`, { tags: ['x1', 'x2'] }, true],
  [`roles/any(r:r eq Some.Role'LEADER')`, { roles: ['MEMBER', 'LEADER'] }, true],
  [`disks/any(d:d/isBoot and d/sizeBytes gt 5)`, { disks: [{ isBoot: true, sizeBytes: 5 }, { sizeBytes: 6 }] }, false],
  [`disks/any(d:d/isBoot and d/sizeBytes gt 5)`, { disks: [{ isBoot: true, sizeBytes: 6 }] }, true],
  [`disks/all(d:d/isBoot)`, { disks: [{}] }, false],
  [`not disks/any(d:d/isBoot)`, { disks: [{}] }, true],
  [`disks/any(d:d/name eq name)`, { name: 'a', disks: [{ name: 'a' }] }, true],
  [`disks/any(d:d/labels/any(l:l eq d/name))`, { disks: [{ name: 'a', labels: ['b', 'a'] }] }, true],
  [`disks/any(d:d/labels eq 'x' and d/name eq 'a')`, { disks: [{ name: 'a' }, { name: 'b', labels: ['x'] }] }, false],
  [`disks/any(d:d/parts/all(p:p/count gt 1))`, { disks: [{ parts: [{ count: 1 }] }, {}] }, true],
  [`disks/parts/any(p:p/count eq 2)`, { disks: [{}, { parts: [{ count: 2 }] }] }, true],
  // Alternatives, composite values.
  [`source/url eq 'u' and source/imageExtId eq null`, { source: { url: 'u' } }, true],
  [`anyValue ne null`, { anyValue: { a: 1 } }, true],
  [`anyValue eq null`, {}, true],
]

test('filters have the meaning of the conventions', () => {
  for (const [text, document, value] of cases) {
    assert.equal(evaluateFilter(check(text), document), value, `${text} ${JSON.stringify(document)}`)
  }
})

test('not contains leaves out rows without the field, ne keeps them', () => {
  const rows = [{ name: '1' }, { name: '2', description: 'x' }, { name: '3', description: 'y' }]
  const found = (text: string) => rows.filter((row) => evaluateFilter(check(text), row) === true).map((row) => row.name)
  assert.deepEqual(found(`not contains(description,'x')`), ['3'])
  assert.deepEqual(found(`description ne 'x'`), ['1', '3'])
})

const refused: readonly (readonly [text: string, position: number, message: RegExp])[] = [
  ['unknown eq 1', 1, /"unknown" is not available here; expected one of anyValue, clusterExtIds/],
  ['owner eq null', 1, /"owner" is not available/],
  [`disks/labels eq 'x'`, 1, /"disks\/labels" is not available/],
  [`name eq 'x' and nope/any()`, 17, /"nope" is not available/],
  ['name/any()', 1, /"name" is not available/],
  [`disks/any(d:d/nope eq 1)`, 13, /"disks\/nope" is not available/],
  ['__proto__ eq 1', 1, /"__proto__" is not available/],
  ['constructor/name eq 1', 1, /not available/],
  [`password eq 'x'`, 1, /"password" is not available/],
  [`disks/any(d:d/key eq 'x')`, 13, /"disks\/key" is not available/],
  ['name eq 5', 9, /"name" is a text; expected a text.*found "5"/],
  [`5 eq name`, 1, /"name" is a text/],
  [`sizeBytes eq 'x'`, 14, /"sizeBytes" is a number; expected a number, found "'x'"/],
  ['isOn eq 1', 9, /true or false/],
  [`isOn eq 'true'`, 9, /true or false/],
  [`createdTime gt 'yesterday'`, 16, /date-time with an offset/],
  ['createdTime gt 5', 16, /date-time with an offset/],
  ['extId eq 5', 10, /a UUID/],
  [`name eq ${id(1)}`, 9, /a text between single quotes/],
  [`state eq Some.Enum'BROKEN'`, 10, /one of OFF, ON, PAUSED/],
  [`state in ('ON',X'NOPE')`, 16, /one of OFF, ON, PAUSED/],
  ['state eq 1', 10, /member of the enumeration/],
  [`state gt 'ON'`, 7, /eq, ne and in only/],
  [`contains(state,'O')`, 1, /takes texts, not an enumeration/],
  [`name eq X'ON'`, 9, /a text between single quotes/],
  ['name eq sizeBytes', 6, /"name" is a text, "sizeBytes" a number/],
  [`'a' eq 5`, 1, /expected a number/],
  [`contains(sizeBytes,'5')`, 1, /takes texts, not a number/],
  ['contains(name,5)', 1, /takes texts, not a number/],
  [`length(sizeBytes) gt 1`, 8, /length takes a text/],
  ['name', 1, /"name" is no boolean field/],
  ['isOn and name', 10, /"name" is no boolean field/],
  [`anyValue eq 'x'`, 13, /composite value; expected null/],
  [`name in ('a',5)`, 14, /a text/],
]

test('refuses faults with their column', () => {
  for (const [text, position, message] of refused) {
    const fault = faultOf(() => check(text))
    assert.equal(fault.position, position, `${text}: ${fault.message}`)
    assert.match(fault.message, message, text)
    assert.equal(fault.option, '$filter')
  }
  assert.equal(faultOf(() => checkFilter(parseFilter('x eq 1'), { ...rules, option: '$expand' })).option, '$expand')
})

test('a lambda may use the fields of a listed collection, or those that are listed themselves', () => {
  const only = (fields: string[], text: string) => () => checkFilter(parseFilter(text), { fields, schema: Machine })
  const lambda = `disks/any(d:d/name eq 'x')`
  only(['disks'], lambda)()
  only(['disks/name'], lambda)()
  only(['disks'], `disks/any(d:d/parts/any(p:p/name eq 'x'))`)()
  only(['disks/parts/name'], `disks/any(d:d/parts/any(p:p/name eq 'x'))`)()
  only(['disks/name'], 'disks/any()')()
  faultOf(only(['disks/sizeBytes'], lambda))
  faultOf(only(['disks'], `disks/name eq 'x'`))
  faultOf(only(['name'], 'disks/any()'))
  faultOf(only([], lambda))
})

test('texts of the naming profiles are compared in canonical spelling', () => {
  const canonical = (named: string, text: string) => `${named}:${text.replace('prism:', 'platform:')}`
  const filter = checkFilter(parseFilter(`rel in ('prism:a') and name eq 'prism:a'`), { ...rules, canonical })
  assert.equal(evaluateFilter(filter, { rel: 'rel:platform:a', name: 'prism:a' }), true)
})

test('orders by listed fields: null first, last when descending, texts by code point', () => {
  const order = (text: string, documents: readonly object[]) =>
    [...documents].sort(sortBy(checkOrderby(parseOrderby(text), rules)))
  const [none, low, high, private_, emoji] = [
    {},
    { name: 'A' },
    { name: 'a' },
    { name: '\uE000' },
    { name: '\u{1F600}' },
  ]
  assert.deepEqual(order('name', [emoji, high, private_, none, low]), [none, low, high, private_, emoji])
  assert.deepEqual(order('name desc', [low, none, emoji]), [emoji, low, none])
  assert.deepEqual(
    order('isOn desc,sizeBytes', [{ sizeBytes: 1 }, { isOn: true, sizeBytes: 10 }, { isOn: true, sizeBytes: 9 }]),
    [{ isOn: true, sizeBytes: 9 }, { isOn: true, sizeBytes: 10 }, { sizeBytes: 1 }],
  )
  assert.deepEqual(order('state', [{ state: 'PAUSED' }, { state: 'OFF' }]), [{ state: 'OFF' }, { state: 'PAUSED' }])
  assert.match(faultOf(() => order('name,nope', [])).message, /"nope" is not available/)
  // Through a collection: by its first element.
  assert.deepEqual(
    order('disks/sizeBytes', [
      { disks: [{ sizeBytes: 2 }, { sizeBytes: 0 }] },
      { disks: [] },
      { disks: [{ sizeBytes: 1 }] },
    ]),
    [{ disks: [] }, { disks: [{ sizeBytes: 1 }] }, { disks: [{ sizeBytes: 2 }, { sizeBytes: 0 }] }],
  )
  assert.match(faultOf(() => order('anyValue', [])).message, /no single value/)
  assert.equal(faultOf(() => order('nope', [])).option, '$orderby')
})

test('expands listed names only', () => {
  assert.equal(checkExpand(parseExpand('cluster'), { names: ['cluster'] }).length, 1)
  const fault = faultOf(() => checkExpand(parseExpand('cluster,vpc'), { names: ['cluster'] }))
  assert.deepEqual([fault.option, fault.position, fault.found], ['$expand', 9, '"vpc"'])
})

test('groups by distinct combinations, in order, without nulls', () => {
  const typed = checkApply(parseApply(`filter(name ne 'x')/groupby((owner/name,state))`), {
    fields: ['owner/name', 'state'],
    filterFields: ['name'],
    schema: Machine,
  })
  const documents = [
    { state: 'ON', owner: { name: 'b', extId: id(1) } },
    { state: 'OFF' },
    { state: 'ON', owner: { name: 'b' } },
    { state: 'OFF', owner: { name: 'b' } },
    { name: 'x', state: 'PAUSED' },
  ]
  const matching = documents.filter((document) => evaluateFilter(typed.filter, document) === true)
  assert.deepEqual(groupDocuments(typed.groupby, matching), [
    { state: 'OFF' },
    { owner: { name: 'b' }, state: 'OFF' },
    { owner: { name: 'b' }, state: 'ON' },
  ])
  const byRoles = checkApply(parseApply('groupby((roles))'), { ...rules, filterFields: [] }).groupby
  assert.deepEqual(
    groupDocuments(byRoles, [
      { roles: ['MEMBER'] },
      { roles: [] },
      { roles: ['LEADER', 'MEMBER'] },
      {},
      { roles: ['LEADER'] },
      { roles: ['MEMBER'] },
    ]),
    [{}, { roles: ['LEADER'] }, { roles: ['LEADER', 'MEMBER'] }, { roles: ['MEMBER'] }],
  )
  assert.match(
    faultOf(() => checkApply(parseApply('groupby((disks/name))'), { ...rules, filterFields: [] })).message,
    /no single value/,
  )
  assert.equal(
    faultOf(() => checkApply(parseApply('groupby((name))'), { ...rules, fields: [], filterFields: [] })).option,
    '$apply',
  )
})

test('scopes are built from paths of the kind', () => {
  const path = (text: string) => resolvePath(Machine, text)
  const scope = or(
    and(equals(path('owner/extId'), id(1).toUpperCase()), not(equals(path('isOn'), true))),
    anyOf(path('disks/image/extId'), [id(2), id(3)]),
  )
  assert.equal(evaluateFilter(scope, { owner: { extId: id(1) } }), true)
  assert.equal(evaluateFilter(scope, { owner: { extId: id(1) }, isOn: true }), false)
  assert.equal(evaluateFilter(scope, { disks: [{}, { image: { extId: id(3) } }] }), true)
  assert.equal(evaluateFilter(equals(path('name'), null), {}), true)
  assert.equal(and(), always)
  assert.equal(or(), never)
  assert.equal(and(scope, never), never)
  assert.equal(or(always, scope), always)
  assert.equal(anyOf(path('name'), []), never)
  assert.deepEqual(
    or(equals(path('tags'), 'a'), equals(path('isOn'), true), anyOf(path('tags'), ['b', 'a'])),
    or(anyOf(path('tags'), ['a', 'b']), equals(path('isOn'), true)),
  )
  assert.throws(() => path('nope'), /no field nope/)
  assert.throws(() => path('password'), /no field password/)
})
