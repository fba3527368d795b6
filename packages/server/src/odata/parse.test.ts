import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ODataFault } from './fault.ts'
import { parseApply, parseExpand, parseFilter, parseOrderby, parseSelect } from './parse.ts'

/** The AST as a text in prefix form, without positions. */
function shown(node: any): string {
  switch (node.kind) {
    case 'path':
      return [...(node.variable ? [`$${node.variable}`] : []), ...node.names].join('/')
    case 'literal':
      return `${node.type}:${node.value}`
    case 'call':
      return `${node.function}(${shown(node.argument)})`
    case 'and':
    case 'or':
      return `(${node.kind} ${node.terms.map(shown).join(' ')})`
    case 'not':
      return `(not ${shown(node.term)})`
    case 'compare':
      return `(${node.operator} ${shown(node.left)} ${shown(node.right)})`
    case 'in':
      return `(in ${shown(node.operand)} ${node.literals.map(shown).join(' ')})`
    case 'match':
      return `(${node.function} ${shown(node.text)} ${shown(node.pattern)})`
    default:
      return `(${node.quantifier} ${shown(node.path)}${node.variable ? ` ${node.variable}: ${shown(node.body)}` : ''})`
  }
}

function faultOf(read: () => unknown): ODataFault {
  try {
    read()
  } catch (error) {
    assert(error instanceof ODataFault, `expected a fault, found ${error}`)
    return error
  }
  throw new assert.AssertionError({ message: 'expected a fault' })
}

const id = '0005a2b1-7C1d-4e9f-8a3b-000000000001'

const accepted: readonly (readonly [text: string, meaning: string])[] = [
  [`name eq 'a''b'`, `(eq name text:a'b)`],
  [`name eq ''`, `(eq name text:)`],
  [`name eq ''''`, `(eq name text:')`],
  [`name eq 'x:x'`, `(eq name text:x:x)`],
  [`name eq ' a  b '`, `(eq name text: a  b )`],
  [`name eq 'e\u0301'`, `(eq name text:\u00e9)`],
  ['  \t name\n eq \r 5  ', '(eq name number:5)'],
  [`name eq 'x'and y eq 1`, `(and (eq name text:x) (eq y number:1))`],
  [`(name eq 'x')or(y eq 1)and(z eq 2)`, `(or (eq name text:x) (and (eq y number:1) (eq z number:2)))`],
  [
    `a eq 1 or b eq 2 and c eq 3 or d eq 4`,
    '(or (eq a number:1) (and (eq b number:2) (eq c number:3)) (eq d number:4))',
  ],
  [`not a eq 1 and b eq 2`, '(and (not (eq a number:1)) (eq b number:2))'],
  [`NOT(a EQ 1)AND b Ne NULL`, '(and (not (eq a number:1)) (ne b null:null))'],
  [`not(not(isOn))`, '(not (not isOn))'],
  [`isOn eq TRUE or isOn eq False`, '(or (eq isOn boolean:true) (eq isOn boolean:false))'],
  ['isOn and a/b', '(and isOn a/b)'],
  ['a / b eq 1', '(eq a/b number:1)'],
  ['1 eq a', '(eq number:1 a)'],
  ['null eq null', '(eq null:null null:null)'],
  ['a gt -1.5e3', '(gt a number:-1500)'],
  ['a le +2', '(le a number:2)'],
  ['a ge 9007199254740991', '(ge a number:9007199254740991)'],
  [`a lt ${id}`, `(lt a guid:${id})`],
  [`a eq '${id}'`, `(eq a text:${id})`],
  [`a eq "${id}"and b`, `(and (eq a guid:${id}) b)`],
  ['t gt 2026-01-31T10:00:00.5+02:00', '(gt t instant:2026-01-31T08:00:00.500000Z)'],
  ['t gt 2026-01-31t10:00z', '(gt t instant:2026-01-31T10:00:00.000000Z)'],
  ['t gt 2026-01-31T10:00:00.123456789Z', '(gt t instant:2026-01-31T10:00:00.123456Z)'],
  [`s eq Vmm.Ahv.Config.PowerState'ON'`, '(eq s enumeration:ON)'],
  [`s in(Any'ON','OFF',null)`, '(in s enumeration:ON text:OFF null:null)'],
  [`'a' in ('a')`, '(in text:a text:a)'],
  [`contains(name,'x')`, '(contains name text:x)'],
  [`StartsWith ( tolower( trim(name) ) , 'x' )`, '(startswith tolower(trim(name)) text:x)'],
  [`endswith('abc',name)`, '(endswith text:abc name)'],
  [`name contains 'x'and a eq 1`, '(and (contains name text:x) (eq a number:1))'],
  [`name startswith 'x' or name EndsWith 'y'`, '(or (startswith name text:x) (endswith name text:y))'],
  ['length(name) gt 3', '(gt length(name) number:3)'],
  [`tolower(name) in ('a')`, '(in tolower(name) text:a)'],
  [`clusters/any(c:c/extId eq 'x')`, '(any clusters c: (eq $c/extId text:x))'],
  [`clusters / ANY ( c : c / extId eq 'x' )`, '(any clusters c: (eq $c/extId text:x))'],
  [`a/b/all(t:t eq Some.Enum'V')`, '(all a/b t: (eq $t enumeration:V))'],
  ['a/any()', '(any a)'],
  ['a/any( ) and b', '(and (any a) b)'],
  ['a/any(x:x/b/any(y:y eq x/c))', '(any a x: (any $x/b y: (eq $y $x/c)))'],
  ['a/any(x:x/any(y:y eq 1))', '(any a x: (any $x y: (eq $y number:1)))'],
  ['a/any(x:x) or b/any(x:not x)', '(or (any a x: $x) (any b x: (not $x)))'],
]

test('parses filters by the grammar', () => {
  for (const [text, meaning] of accepted) assert.equal(shown(parseFilter(text)), meaning, text)
})

const refused: readonly (readonly [text: string, position: number, message: RegExp])[] = [
  ['', 1, /found the end/],
  ['   ', 4, /found the end/],
  [`name eq 'abc`, 9, /closing quote/],
  [`name eq 'a''`, 9, /closing quote/],
  [`name contains'x'`, 6, /comparison/],
  ['name eq', 8, /a field or a literal.*the end/],
  ['name = 5', 6, /comparison.*"="/],
  ['name eq 5 5', 11, /the end/],
  ['(name eq 5', 11, /"\)"/],
  ['name eq 5)', 10, /the end/],
  ['(a) eq 1', 5, /./],
  ['true', 5, /comparison/],
  ['a eq 1 and', 11, /found the end/],
  ['not not a', 5, /./],
  [`contains(a,'x') eq true`, 17, /the end/],
  [`tolower(contains(a,'x')) eq 'y'`, 9, /"contains" is a condition/],
  ['a in ()', 7, /literal/],
  ['a in (b)', 7, /literal/],
  [`name contains b`, 15, /single quotes/],
  [`'x' contains 'y'`, 5, /comparison/],
  ['a eq 5and b', 6, /number|literal/],
  ['a eq 1e999', 6, /number between/],
  ['a eq 9007199254740993', 6, /number between/],
  ['a eq 2026-02-30T00:00:00Z', 6, /date-time with an offset/],
  ['a eq 2026-02-03', 6, /date-time with an offset/],
  ['a eq 2026-02-03T00:00:00', 6, /date-time with an offset/],
  ['a eq 2026-02-03T25:00:00Z', 6, /date-time with an offset/],
  ['a eq 9999-12-31T23:59:59-01:00', 6, /date-time with an offset/],
  ['a eq "abc"', 6, /UUID between double quotes/],
  ['a eq "', 6, /UUID between double quotes/],
  [`a eq 'x\u0000'`, 6, /control characters/],
  ['a eq \u00e9', 6, /"\u00e9"/],
  [`a eq Enum 'V'`, 11, /the end/],
  // Other constructs of OData.
  ['a add 1 eq 2', 3, /"add" is not supported/],
  ['a MUL 1 eq 2', 3, /"mul" is not supported/],
  ['a divby 1 eq 2', 3, /"divby" is not supported/],
  ['a eq 1 sub 2', 8, /./],
  ["a has Enum'V'", 3, /"has" is not supported/],
  ['a + 1 eq 2', 3, /arithmetic/],
  ['a eq -b', 6, /arithmetic/],
  [`concat(a,b) eq 'x'`, 1, /"concat" is not supported/],
  [`substring(a,1) eq 'x'`, 1, /"substring" is not supported/],
  [`indexof(a,'x') eq 1`, 1, /"indexof" is not supported/],
  ['year(t) eq 2026', 1, /"year" is not supported/],
  ['t gt now()', 6, /"now" is not supported/],
  ['round(a) eq 1', 1, /"round" is not supported/],
  [`isof(a,'x')`, 1, /"isof" is not supported/],
  [`cast(a,Edm.String) eq 'x'`, 1, /"cast" is not supported/],
  ['geo.distance(a,b) lt 1', 1, /"geo.distance" is not supported/],
  [`a eq geography'POINT(1 2)'`, 6, /geography literals are not supported/],
  [`a eq duration'P1D'`, 6, /duration literals are not supported/],
  ['a/$count gt 1', 3, /"\$count" is not supported/],
  ['$it/a eq 1', 1, /"\$it" is not supported/],
  ['a eq @p', 6, /aliases \("@p"\) are not supported/],
  ['a/Some.Type/b eq 1', 3, /type casts/],
  ['a/each(x:x eq 1)', 7, /"each" is not supported/],
  ['any(x:x eq 1)', 1, /"any" is not supported/],
  ['a/all()', 7, /variable/],
  ['a/any(x eq 1)', 9, /":"/],
  ['a/any(x:x/b/any(x:x eq 1))', 17, /"x" is in use/],
  ['length(a/any(x:x eq 1)) gt 1', 13, /without a lambda/],
  ['a/any(x:x/b/any(y:y/c/any(z:z eq 1)))', 27, /2 nested lambdas/],
]

test('refuses everything else with its column and the reason', () => {
  for (const [text, position, message] of refused) {
    const fault = faultOf(() => parseFilter(text))
    assert.equal(fault.option, '$filter')
    assert.equal(fault.position, position, `${text}: ${fault.message}`)
    assert.match(fault.message, message, text)
    assert.notEqual(fault.expected, '')
    assert.notEqual(fault.found, '')
  }
})

const nested = (depth: number): string => '('.repeat(depth) + 'a eq 1' + ')'.repeat(depth)
const withNodes = (terms: number): string => Array.from({ length: terms }, () => 'a').join(' and ')

test('holds the limits of size, at each of them exactly', () => {
  const within: readonly (() => unknown)[] = [
    () => parseFilter(`name eq '${'x'.repeat(8192 - 10)}'`),
    () => parseFilter(nested(20)),
    // n fields and n-1 operators
    () => parseFilter(withNodes(150)),
    () => parseFilter(`a in (${Array(200).fill('1').join()})`),
    () => parseFilter(`a/any(x:x/b/any(y:y eq 1))`),
    () => parseOrderby('a,b,c,d,e'),
    () => parseSelect(Array(100).fill('a').join()),
    () => parseExpand('a,b,c,d,e,f,g,h,i,j'),
  ]
  for (const read of within) read()
  const beyond: readonly (readonly [() => unknown, RegExp])[] = [
    [() => parseFilter(`name eq '${'x'.repeat(8192 - 9)}'`), /at most 8192 characters/],
    [() => parseFilter(nested(21)), /20 nested parentheses/],
    [() => parseFilter('not('.repeat(21) + 'a' + ')'.repeat(21)), /20 nested parentheses/],
    [() => parseFilter('tolower('.repeat(21) + 'a' + ')'.repeat(21) + ` eq 'a'`), /20 nested parentheses/],
    [() => parseFilter(`${withNodes(150)} and not b`), /300 operators, fields and literals/],
    [() => parseFilter(`a in (${Array(201).fill('1').join()})`), /200 values/],
    [() => parseOrderby('a,b,c,d,e,f'), /5 keys/],
    [() => parseSelect(Array(101).fill('a').join()), /100 fields/],
    [() => parseSelect(`a(${Array(101).fill('a').join()})`), /100 fields/],
    [() => parseExpand('a,b,c,d,e,f,g,h,i,j,k'), /10 names/],
  ]
  for (const [read, message] of beyond) assert.match(faultOf(read).message, message)
})

test('refuses an oversized filter quickly, and ten thousand parentheses without harm', () => {
  for (const text of [
    nested(21),
    withNodes(151),
    '('.repeat(10_000),
    '('.repeat(8000),
    'not '.repeat(2000),
    'a/'.repeat(4000) + 'a',
  ]) {
    const start = performance.now()
    faultOf(() => parseFilter(text))
    assert(performance.now() - start < 50, text.slice(0, 20))
  }
})

test('reads $orderby', () => {
  const keys = parseOrderby(' name desc , a/b ASC,c ')
  assert.deepEqual(
    keys.map(({ path, descending }) => [shown(path), descending]),
    [
      ['name', true],
      ['a/b', false],
      ['c', false],
    ],
  )
  assert.equal(faultOf(() => parseOrderby('name up')).position, 6)
  assert.equal(faultOf(() => parseOrderby('name,')).position, 6)
  assert.match(faultOf(() => parseOrderby('length(name)')).message, /found "\("/)
})

const shownSelect = (select: any): string =>
  select === '*'
    ? '*'
    : select.map((item: any) => shown(item.path) + (item.nested ? `(${shownSelect(item.nested)})` : '')).join()

test('reads $select', () => {
  assert.equal(shownSelect(parseSelect(' * ')), '*')
  assert.equal(shownSelect(parseSelect('a, b/c ,d( e,f(*) )')), 'a,b/c,d(e,f(*))')
  assert.equal(shownSelect(parseSelect('extId,$objectType,$reserved')), 'extId,$objectType,$reserved')
  assert.equal(faultOf(() => parseSelect('')).position, 1)
  assert.equal(faultOf(() => parseSelect('a,,b')).position, 3)
  assert.equal(faultOf(() => parseSelect('a(b')).position, 4)
  assert.match(faultOf(() => parseSelect('$count')).message, /"\$count" is not supported/)
})

test('reads $expand with its options', () => {
  const [cluster, owner] = parseExpand(
    `cluster( $select = name,extId ; $filter=name eq 'a;b)' ; $orderby=name desc ) , owner`,
  )
  assert.equal(cluster?.name, 'cluster')
  assert.equal(shownSelect(cluster?.select), 'name,extId')
  assert.equal(shown(cluster?.filter), '(eq name text:a;b))')
  assert.equal(cluster?.orderby?.[0]?.descending, true)
  assert.deepEqual(owner, { name: 'owner', position: owner?.position })
  assert.match(faultOf(() => parseExpand('a($expand=b)')).message, /\$filter, \$select or \$orderby.*"\$expand"/)
  assert.match(faultOf(() => parseExpand('a($top=1)')).message, /"\$top"/)
  assert.match(faultOf(() => parseExpand('a($levels=max)')).message, /"\$levels"/)
  assert.match(faultOf(() => parseExpand('a($select=b;$select=c)')).message, /one \$select/)
  assert.match(faultOf(() => parseExpand('a,a')).message, /expanded twice/)
  assert.equal(faultOf(() => parseExpand('*')).position, 1)
})

test('reads $apply', () => {
  const apply = parseApply(`filter(name eq 'x')/groupby((a,b/c))`)
  assert.equal(shown(apply.filter), '(eq name text:x)')
  assert.deepEqual(apply.groupby.map(shown), ['a', 'b/c'])
  assert.equal(parseApply(' groupby( ( a ) ) ').filter, undefined)
  for (const text of [
    'groupby(a)',
    'groupby((a),aggregate(b with sum as c))',
    'aggregate(a)',
    'groupby(())',
    'filter(a)',
    '',
  ]) {
    faultOf(() => parseApply(text))
  }
})

const words = fc.constantFrom(
  'name',
  'a/b',
  'and',
  'or',
  'not',
  'eq',
  'ne',
  'gt',
  'in',
  'any(',
  'x:',
  'all(',
  '(',
  ')',
  ',',
  '/',
  "'",
  "''",
  "'x'",
  '"',
  '5',
  '-1',
  '1e5',
  '2026-01-31T00:00:00Z',
  id,
  "E.F'V'",
  'null',
  'true',
  'contains(',
  'tolower(',
  'length(',
  '$it',
  '@p',
  ';',
  '=',
  '*',
  ' ',
  '\t',
  '.',
  '-',
  '+',
  '\u0000',
  '\ud800',
  'groupby(',
  'filter(',
  '$filter=',
  '__proto__',
  'constructor',
)
const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.array(words, { maxLength: 40 }).map((parts) => parts.join('')),
  fc.array(words, { maxLength: 40 }).map((parts) => parts.join(' ')),
)

test('every text ends in a tree or a fault', () => {
  const parsers = [parseFilter, parseOrderby, parseSelect, parseExpand, parseApply]
  fc.assert(
    fc.property(hostile, fc.constantFrom(...parsers), (text, parse) => {
      try {
        parse(text)
      } catch (error) {
        assert(error instanceof ODataFault, String(error))
        assert(error.position >= 1 && error.position <= text.length + 1)
      }
    }),
    { numRuns: 3000 },
  )
})
