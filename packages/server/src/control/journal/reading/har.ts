/** Source: HAR 1.2 (W3C Web Performance group, "HTTP Archive (HAR) format"). */

import type { EntityOf } from '@hyperplane/contract'
import type { Call } from '@hyperplane/contract/control/call'
import { STATUS_CODES } from '../../../core/node-http.ts'

type CallEntity = EntityOf<typeof Call>

export interface HarOptions {
  readonly origin: string
  readonly version: string
  readonly comment: string
}

export function harFrame({ version, comment }: HarOptions): { begin: string; end: string } {
  const creator = { name: 'Hyperplane', version }
  return {
    begin: `{"log":{"version":"1.2","creator":${JSON.stringify(creator)},"comment":${JSON.stringify(comment)},"entries":[`,
    end: ']}}\n',
  }
}

const protocol = 'HTTP/1.1'
/** The format's value for an unknown size. */
const unknown = -1

export function harEntry(call: CallEntity, { origin }: HarOptions): object {
  const milliseconds = call.durationMicros / 1000
  const query = call.query === undefined ? '' : `?${call.query}`
  return {
    startedDateTime: call.time,
    time: milliseconds,
    request: {
      method: call.method,
      url: `${origin}${call.path}${query}`,
      httpVersion: protocol,
      cookies: [],
      headers: requestHeaders(call),
      queryString: [...new URLSearchParams(call.query)].map(([name, value]) => ({ name, value })),
      ...(call.request === undefined
        ? {}
        : { postData: { mimeType: call.request.mediaType ?? '', params: [], text: call.request.text ?? '' } }),
      headersSize: unknown,
      bodySize: call.request?.sizeBytes ?? 0,
    },
    response: {
      status: call.status,
      statusText: STATUS_CODES[call.status] ?? '',
      httpVersion: protocol,
      cookies: [],
      headers: call.answer?.mediaType === undefined ? [] : [{ name: 'Content-Type', value: call.answer.mediaType }],
      content: {
        size: call.answer?.sizeBytes ?? 0,
        mimeType: call.answer?.mediaType ?? '',
        ...(call.answer?.text === undefined ? {} : { text: call.answer.text }),
      },
      redirectURL: '',
      headersSize: unknown,
      bodySize: call.answer?.sizeBytes ?? 0,
    },
    cache: {},
    timings: { send: 0, wait: milliseconds, receive: 0 },
    // The format reserves names with an underscore for custom fields.
    _call: { ...call, request: undefined, answer: undefined },
  }
}

/** Only headers that the journal records: credentials never reach it. */
function requestHeaders(call: CallEntity): { name: string; value: string }[] {
  const headers = [
    { name: 'Content-Type', value: call.request?.mediaType },
    { name: 'If-Match', value: call.precondition?.sent },
    { name: call.profile === 'public' ? 'NTNX-Request-Id' : 'SVC-Request-Id', value: call.requestId },
  ]
  return headers.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
}
