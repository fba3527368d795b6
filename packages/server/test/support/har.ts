/** Whether a value is an HTTP Archive, HAR 1.2: members and their types, as the format demands them. */

type Check = (value: any) => boolean
const text: Check = (value) => typeof value === 'string'
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const whole: Check = (value) => Number.isInteger(value) && value >= -1
const amount: Check = (value) => number(value) && value >= 0
const list: Check = Array.isArray
const time: Check = (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(value)
const address: Check = (value) => URL.canParse(value)

const pair = { name: text, value: text }
const required: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  log: { version: (value) => value === '1.2', creator: (value) => typeof value === 'object', entries: list },
  creator: { name: text, version: text },
  entry: { startedDateTime: time, time: amount, request: Boolean, response: Boolean, cache: Boolean, timings: Boolean },
  request: {
    method: text,
    url: address,
    httpVersion: text,
    cookies: list,
    headers: list,
    queryString: list,
    headersSize: whole,
    bodySize: whole,
  },
  response: {
    status: whole,
    statusText: text,
    httpVersion: text,
    cookies: list,
    headers: list,
    content: Boolean,
    redirectURL: text,
    headersSize: whole,
    bodySize: whole,
  },
  content: { size: whole, mimeType: text },
  postData: { mimeType: text, text },
  timings: { send: amount, wait: amount, receive: amount },
  pair,
}

/** One line for each member that is missing or of the wrong type. */
export function harFaults(har: any): string[] {
  const faults: string[] = []
  const check = (form: string, value: any, path: string): void => {
    for (const [name, fits] of Object.entries(required[form] ?? {}))
      if (value?.[name] === undefined || !fits(value[name]))
        faults.push(`${path}.${name}: ${JSON.stringify(value?.[name])}`)
  }
  check('log', har?.log, 'log')
  check('creator', har?.log?.creator, 'log.creator')
  for (const [index, entry] of (har?.log?.entries ?? []).entries()) {
    const path = `log.entries[${index}]`
    check('entry', entry, path)
    for (const part of ['request', 'response'] as const) {
      check(part, entry[part], `${path}.${part}`)
      for (const header of entry[part].headers) check('pair', header, `${path}.${part}.headers`)
    }
    for (const parameter of entry.request.queryString) check('pair', parameter, `${path}.request.queryString`)
    if (entry.request.postData !== undefined) check('postData', entry.request.postData, `${path}.request.postData`)
    check('content', entry.response.content, `${path}.response.content`)
    check('timings', entry.timings, `${path}.timings`)
    const { send, wait, receive } = entry.timings
    if (Math.abs(entry.time - send - wait - receive) > 1e-9) faults.push(`${path}.time is not the sum of its timings`)
  }
  return faults
}
