/** Shown before sign-in; exactly one. Source: catalogue iam.json; behaviour iam.md 6, 10. */
import { get, perSecond, resource, update } from '../operation.ts'
import * as s from '../schema.ts'

export const WelcomeBanner = resource('iam.v4.authn.WelcomeBanner', {
  fields: {
    /** Plain text; markup is not interpreted. */
    content: s.withDefault(s.text({ maxLength: 5000, multiline: true }), ''),
    isEnabled: s.withDefault(s.boolean(), true),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  bare: true,
  singleton: true,
  iam: {},
  isInNewWorld: () => true,
})

export const welcomeBannerOperations = {
  getWelcomeBanner: get('/authn/welcome-banner', WelcomeBanner, {
    roles: 'everyone',
    rateLimit: perSecond(10, 10, 15, 20),
  }),
  updateWelcomeBanner: update('/authn/welcome-banner', WelcomeBanner, {
    roles: ['Platform Admin', 'Super Admin'],
    rateLimit: perSecond(1),
    runs: 'sync',
  }),
}
