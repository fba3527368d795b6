/** Source: conventions 2.3, 11. */

import type { Operation } from '@hyperplane/contract'
import type { RefusedRequest, RenderedAnswer } from '../core/pipeline/request.ts'
import type { Reply } from '../core/reply.ts'
import type { Answer } from './answers/answer.ts'
import type { AnswerContext } from './envelope/answer-context.ts'
import { RefusalWriter } from './envelope/refusal.ts'
import { type Namespaces, ReplyWriter, renderSettings } from './envelope/reply.ts'

export interface EnvelopeWriter {
  /** @param rendered of an answer that several requests get */
  reply(reply: Reply, operation: Operation | undefined, context: AnswerContext, rendered?: RenderedAnswer): Answer
  refusal(refused: RefusedRequest, context: AnswerContext, requestId: string): Answer
  /** For version negotiation, whose data is a plain string. */
  text(value: string, namespace: string, context: AnswerContext): Answer
}

export function createEnvelopeWriter({ namespaces }: { readonly namespaces: Namespaces }): EnvelopeWriter {
  const replies = new ReplyWriter(namespaces)
  const refusals = new RefusalWriter(namespaces)
  return {
    reply: (reply, operation, context, rendered) => replies.write(reply, operation, context, rendered),
    refusal: (refused, context, requestId) => refusals.write(refused, context, requestId),
    text(value, namespace, context) {
      const settings = renderSettings(namespaces, context.profile, namespace, undefined)
      const write = refusals.envelopeOf(`${namespace}.v4.config.InfoApiResponse`, settings)
      const links = [{ href: `${context.origin}${context.base}${context.path}`, rel: 'self' }]
      return { status: 200, headers: {}, body: write({ links }, JSON.stringify(value), 'String') }
    },
  }
}
