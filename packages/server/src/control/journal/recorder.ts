import { type Dispatch, type Outcome, RefusedRequest } from '../../core/pipeline/request.ts'
import type { CallRecorder, EndedCall } from '../../core/recording/recording.ts'
import { noteRewrite, Trace } from '../../core/recording/trace.ts'
import type { Journal } from './journals.ts'
import type { CallText } from './protocol.ts'
import {
  type BodyText,
  holdsSecretDetails,
  type Naming,
  rawText,
  redactedAnswer,
  requestText,
  sentBody,
  showsSecrets,
  withoutSecretDetails,
} from './recording/body-texts.ts'
import { maximumTextLength, member, operationOf, ownText, sharedText } from './recording/call-head.ts'
import { keepForRepeats, repeatedText } from './recording/repeated-calls.ts'

export interface RecorderOptions {
  readonly journal: () => Journal | undefined
  /** False until the stored settings are read: a closed world reads them with its first request. */
  readonly areSettingsKnown: () => boolean
  readonly now: () => number
  readonly naming: Naming
  readonly render: EndedCallRenderer
}

export function createRecorder({ journal, areSettingsKnown, now, naming, render }: RecorderOptions): CallRecorder {
  const recorder: CallRecorder = {
    begin(began, sentPath, path) {
      if (areSettingsKnown() && journal()?.settings.isRecording !== true) return undefined
      const trace = new Trace(began)
      noteRewrite(trace, 'path', sentPath.slice(0, maximumTextLength), path.slice(0, maximumTextLength))
      return trace
    },
    record(call) {
      const { trace } = call.request
      const openJournal = journal()
      if (trace === undefined || !areSettingsKnown() || openJournal?.settings.isRecording !== true) return
      const ended = now()
      const heldBytes = (trace.bytes?.length ?? 0) + (call.body?.length ?? 0)
      openJournal.write(() => callTextOf(call, trace, ended, naming), heldBytes)
    },
    elements: (dispatch) => recordBatchElements(dispatch, recorder, now, render),
  }
  return recorder
}

/** Records each element of a batch as a call of its own, which names the task of the batch. */
function recordBatchElements(
  dispatch: Dispatch,
  recorder: CallRecorder,
  now: RecorderOptions['now'],
  render: EndedCallRenderer,
): Dispatch {
  return async (element) => {
    const path = `/api${element.path}`
    const trace = element.onBehalfOf === undefined ? undefined : recorder.begin(now(), path, path)
    if (trace === undefined) return dispatch(element)
    const request = { ...element, trace }
    const ended = (outcome: Outcome | undefined, refused: RefusedRequest | undefined): void =>
      recorder.record({ request, path, outcome, refused, ...render(request, outcome, refused) })
    try {
      const outcome = await dispatch(request)
      const { durable } = outcome
      if (durable === undefined) ended(outcome, undefined)
      // Recorded after the commit: an element whose commit fails is recorded as failed.
      else
        durable.then(
          () => ended(outcome, undefined),
          (error) => ended(undefined, new RefusedRequest(error, outcome.operation, undefined, {})),
        )
      return outcome
    } catch (error) {
      if (error instanceof RefusedRequest) ended(undefined, error)
      throw error
    }
  }
}

export type EndedCallRenderer = (
  request: EndedCall['request'],
  outcome: Outcome | undefined,
  refused: RefusedRequest | undefined,
) => Pick<EndedCall, 'status' | 'body'>

function callTextOf(call: EndedCall, trace: Trace, ended: number, naming: Naming): CallText {
  const shared = sharedText(call, trace)
  const repeated = repeatedText(call, trace)
  if (repeated !== undefined) {
    const { own, answer } = repeated
    return { began: trace.began, ended, shared, own, isOwnRepeated: true, answer }
  }
  let own = ownText(call, trace)
  const request = requestText(call.request, trace, naming)
  if (request !== undefined) own += `,"request":{${bodyMembers(request)}}`
  const { outcome, refused, body, bytes } = call
  const operation = operationOf(call, trace)
  const texts = { began: trace.began, ended, shared }
  if (outcome?.raw !== undefined) return { ...texts, own: `${own},"answer":{${bodyMembers(rawText(outcome.raw))}}` }
  if (body === undefined || body === '' || call.request.method === 'HEAD') return { ...texts, own }
  if (refused === undefined && showsSecrets(operation))
    return { ...texts, own: `${own},"answer":{${bodyMembers(redactedAnswer(operation, body))}}` }
  if (holdsSecretDetails(operation, body, bytes))
    return { ...texts, own: `${own},"answer":{${bodyMembers(withoutSecretDetails(body))}}` }
  const text = { ...texts, own: `${own},"answer":{"mediaType":"application/json",`, answer: sentBody(body, bytes) }
  keepForRepeats(call, trace, text)
  return text
}

const bodyMembers = ({ mediaType, sizeBytes, isCut, text }: BodyText): string =>
  (mediaType === undefined ? '' : mediaTypeMember(mediaType)) +
  `"sizeBytes":${sizeBytes}${member('isCut', isCut)}${member('text', text)}`

const mediaTypeMember = (mediaType: string): string =>
  mediaType === 'application/json' ? '"mediaType":"application/json",' : `"mediaType":${JSON.stringify(mediaType)},`
