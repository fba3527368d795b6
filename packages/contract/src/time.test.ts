import assert from 'node:assert/strict'
import { test } from 'node:test'
import { instantText, readInstant } from './time.ts'

const textOf = (text: string, seconds?: 'optional'): string | undefined => {
  const instant = readInstant(text, seconds)
  return instant && instantText(instant)
}

test('an instant is written in UTC with six fractional digits, whatever its offset', () => {
  const cases = {
    '2026-11-24T09:30:00Z': '2026-11-24T09:30:00.000000Z',
    '2026-11-24t09:30:00.5z': '2026-11-24T09:30:00.500000Z',
    '2026-11-24T09:30:00.123456789Z': '2026-11-24T09:30:00.123456Z',
    '2026-11-24T09:30:00.000001+05:30': '2026-11-24T04:00:00.000001Z',
    '2026-12-31T23:59:59-00:30': '2027-01-01T00:29:59.000000Z',
    '2024-02-29T00:00:00-00:00': '2024-02-29T00:00:00.000000Z',
    '1969-12-31T23:59:59.999999Z': '1969-12-31T23:59:59.999999Z',
    '0070-01-01T00:00:00Z': '0070-01-01T00:00:00.000000Z',
    '9999-12-31T23:59:59.999999Z': '9999-12-31T23:59:59.999999Z',
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(textOf(text), expected, text)
})

test('seconds may be left out where the query language is read, and nowhere else', () => {
  assert.equal(textOf('2026-11-24T09:30Z'), undefined)
  assert.equal(textOf('2026-11-24T09:30Z', 'optional'), '2026-11-24T09:30:00.000000Z')
  assert.equal(textOf('2026-11-24T09:30-01:00', 'optional'), '2026-11-24T10:30:00.000000Z')
  assert.equal(textOf('2026-11-24T09:30.5Z', 'optional'), undefined)
})

test('text that is no instant is refused', () => {
  const texts = [
    '',
    '2026-11-24',
    '2026-11-24T09:30:00',
    '2026-11-24 09:30:00Z',
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
    '9999-12-31T23:30:00-01:00',
    '0000-01-01T00:30:00+01:00',
    '12026-11-24T09:30:00Z',
    ' 2026-11-24T09:30:00Z',
    '2026-11-24T09:30:00Z\n',
  ]
  for (const text of texts) {
    assert.equal(readInstant(text), undefined, JSON.stringify(text))
    assert.equal(readInstant(text, 'optional'), undefined, JSON.stringify(text))
  }
})
