import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { canonicalTime, formatTime, parseTime } from './time.ts'

test('formats with six fractional digits', () => {
  assert.equal(formatTime(0), '1970-01-01T00:00:00.000000Z')
  assert.equal(formatTime(Date.UTC(2026, 10, 24, 9, 30)), '2026-11-24T09:30:00.000000Z')
  assert.equal(formatTime(Date.UTC(2026, 10, 24, 9, 30) + 123.456), '2026-11-24T09:30:00.123456Z')
  assert.equal(formatTime(Date.UTC(2026, 10, 24) - 0.0001), '2026-11-24T00:00:00.000000Z')
})

describe('parses', () => {
  const cases: [string, string][] = [
    ['2026-11-24T09:30:00Z', '2026-11-24T09:30:00.000000Z'],
    ['2026-11-24t09:30:00.5z', '2026-11-24T09:30:00.500000Z'],
    ['2026-11-24T09:30:00.123456789Z', '2026-11-24T09:30:00.123456Z'],
    ['2026-11-24T09:30:00.000001+05:30', '2026-11-24T04:00:00.000001Z'],
    ['2026-12-31T23:59:59-00:30', '2027-01-01T00:29:59.000000Z'],
    ['2024-02-29T00:00:00-00:00', '2024-02-29T00:00:00.000000Z'],
    ['1969-12-31T23:30:00-01:00', '1970-01-01T00:30:00.000000Z'],
  ]
  for (const [text, expected] of cases) {
    test(text, () => {
      assert.equal(formatTime(parseTime(text)!), expected)
      assert.equal(canonicalTime(text), expected)
    })
  }
})

describe('refuses', () => {
  const texts = [
    '',
    '2026-11-24',
    '2026-11-24T09:30:00',
    '2026-11-24 09:30:00Z',
    '2026-11-24T09:30Z',
    '2026-11-24T09:30:00.Z',
    '2026-11-24T09:30:00+0530',
    '2026-11-24T09:30:00+24:00',
    '2026-11-24T09:30:00+01:60',
    '2026-11-24T24:00:00Z',
    '2026-11-24T09:60:00Z',
    '2026-11-24T09:30:60Z',
    '2026-13-24T09:30:00Z',
    '2026-00-24T09:30:00Z',
    '2026-11-00T09:30:00Z',
    '2025-02-29T00:00:00Z',
    '2026-11-31T09:30:00Z',
    '1969-12-31T23:59:59.999999Z',
    '1970-01-01T00:30:00+01:00',
    '9999-12-31T23:30:00-01:00',
    '0070-01-01T00:00:00Z',
    '12026-11-24T09:30:00Z',
    ' 2026-11-24T09:30:00Z',
    '2026-11-24T09:30:00Z\n',
  ]
  for (const text of texts) {
    test(JSON.stringify(text), () => {
      assert.equal(parseTime(text), undefined)
      assert.equal(canonicalTime(text), undefined)
    })
  }
})

test('a time before 2248 survives formatting and parsing, to the microsecond', () => {
  const micros = fc
    .integer({ min: 0, max: Date.UTC(2248, 0, 1) })
    .chain((ms) => fc.integer({ min: 0, max: 999 }).map((us) => [ms, us] as const))
  fc.assert(
    fc.property(micros, ([ms, us]) => {
      const text = formatTime(ms + us / 1000)
      assert.equal(text, `${new Date(ms).toISOString().slice(0, 23)}${String(us).padStart(3, '0')}Z`)
      assert.equal(formatTime(parseTime(text)!), text)
      assert.equal(canonicalTime(text), text)
    }),
  )
})

test('the last microsecond of 9999 stays in 9999', () => {
  const last = '9999-12-31T23:59:59.999999Z'
  assert.equal(canonicalTime(last), last)
  assert.match(formatTime(parseTime(last)!), /^9999-12-31T23:59:59\.9/)
})

test('texts sort as times do', () => {
  const time = fc.double({ min: 0, max: Date.UTC(9999, 11, 31), noNaN: true })
  fc.assert(fc.property(time, time, (a, b) => formatTime(Math.min(a, b)) <= formatTime(Math.max(a, b))))
})
