import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Answers, BadAnswer, maximumAnswerBytes, maximumMessages } from './answers.ts'

function ber(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
const id = ber(0x02, Buffer.from([1]))
const text = (value: string): Buffer => ber(0x04, value)
const result = [ber(0x0a, Buffer.from([0])), text(''), text('')]
const message = (...parts: Buffer[]): Buffer => ber(0x30, id, ...parts)
const attribute = ber(0x30, text('cn'), ber(0x31, text('a'), text('b')))
const paging = (value: Buffer): Buffer => ber(0xa0, ber(0x30, text('1.2.840.113556.1.4.319'), ber(0x04, value)))

const good: readonly (readonly [string, Buffer])[] = [
  ['an answer to a bind', message(ber(0x61, ...result))],
  ['an answer to a bind with a referral', message(ber(0x61, ...result, ber(0xa3, text('ldap://other'))))],
  ['an entry', message(ber(0x64, text('cn=a'), ber(0x30, attribute, attribute)))],
  ['an entry without attributes', message(ber(0x64, text('cn=a'), ber(0x30)))],
  ['a reference', message(ber(0x73, text('ldap://a'), text('ldap://b')))],
  ['the end of a page', message(ber(0x65, ...result), paging(ber(0x30, ber(0x02, Buffer.from([5])), text('cookie'))))],
  [
    'a long entry',
    message(ber(0x64, text('cn=a'), ber(0x30, ber(0x30, text('cn'), ber(0x31, text('x'.repeat(3000))))))),
  ],
]

describe('complete messages pass unchanged', () => {
  for (const [what, bytes] of good) {
    test(`${what}, at once or byte by byte`, () => {
      assert.deepEqual(new Answers().take(bytes), [bytes])
      const answers = new Answers()
      const passed = [...bytes].flatMap((byte) => answers.take(Buffer.from([byte])))
      assert.deepEqual(passed, [bytes])
    })
  }

  test('several messages in one chunk are separated', () => {
    const all = good.map(([, bytes]) => bytes)
    assert.deepEqual(new Answers().take(Buffer.concat(all)), all)
  })
})

/** A message whose inner length exceeds its content. */
function lying(at: number, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = 0x7f
  return copy
}

const bad: readonly (readonly [string, Buffer])[] = [
  ['another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['a length without an end', Buffer.from([0x30, 0x80, 0, 0])],
  ['a length of five octets', Buffer.from([0x30, 0x85, 1, 1, 1, 1, 1])],
  ['a length beyond all bounds', Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff])],
  ['a message without an operation', message()],
  ['an operation that no server sends', message(ber(0x60, text('x')))],
  ['a reference whose text is longer than the message', lying(8, message(ber(0x73, text('abc'))))],
  ['a reference that holds a number', message(ber(0x73, id))],
  ['an entry whose attributes are a text', message(ber(0x64, text('cn=a'), text('\x30\x64\x04\x01')))],
  ['an attribute whose set is longer than it', lying(22, message(ber(0x64, text('cn=a'), ber(0x30, attribute))))],
  ['an entry with more after its attributes', message(ber(0x64, text('cn=a'), ber(0x30), text('x')))],
  ['a number of nine octets', ber(0x30, ber(0x02, Buffer.alloc(9)), ber(0x65, ...result))],
  ['a number of none', ber(0x30, ber(0x02), ber(0x65, ...result))],
  ['a paging value that is garbage', message(ber(0x65, ...result), paging(Buffer.from([0x30, 0x64, 2, 1])))],
  [
    'a paging value that is not there',
    message(ber(0x65, ...result), ber(0xa0, ber(0x30, text('1.2.840.113556.1.4.319')))),
  ],
  ['something after the controls', message(ber(0x65, ...result), ber(0xa0), text('x'))],
]

describe('malformed messages are refused before the library', () => {
  for (const [what, bytes] of bad) {
    test(what, () => assert.throws(() => new Answers().take(bytes), BadAnswer))
  }
})

test('thousands of messages in one chunk are not processed recursively', () => {
  const [, small] = good[0] as (typeof good)[0]
  assert.equal(new Answers().take(Buffer.concat(Array(5000).fill(small))).length, 5000)
})

test('the bytes and messages of a connection are limited', () => {
  const bytes = new Answers()
  const part = Buffer.alloc(maximumAnswerBytes / 4)
  part.set([0x30, 0x84, 0, 0x3f, 0xff, 0])
  for (let index = 0; index < 4; index++) if (index < 3) bytes.take(part)
  assert.throws(() => bytes.take(Buffer.alloc(maximumAnswerBytes / 4 + 1)), /more than \d+ bytes/)
  const [, small] = good[0] as (typeof good)[0]
  const messages = new Answers()
  messages.take(Buffer.concat(Array(maximumMessages).fill(small)))
  assert.throws(() => messages.take(small), /more than \d+ messages/)
})
