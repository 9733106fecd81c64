{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "autopilot.labels" -}}
app: autopilot
app.kubernetes.io/name: autopilot
app.kubernetes.io/component: agent
{{- end }}

{{- define "autopilot.image" -}}
{{ .Values.image.repository }}:{{ include "autopilot.text" (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}

{{- /* What every container may not. */ -}}
{{- define "autopilot.noRights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
{{- end }}

{{- define "autopilot.isFull" -}}
{{- if not (has .Values.profile (list "dropin" "full")) -}}
{{- fail (printf "profile: expected dropin or full, not %q" .Values.profile) -}}
{{- end -}}
{{- if eq .Values.profile "full" }}true{{ end -}}
{{- end }}

{{- define "autopilot.keepsState" -}}
{{- $kind := .Values.state.kind | default (ternary "hostPath" "emptyDir" (eq .Values.profile "full")) -}}
{{- if not (has $kind (list "emptyDir" "hostPath")) -}}
{{- fail (printf "state.kind: expected emptyDir or hostPath, not %q" $kind) -}}
{{- end -}}
{{- if eq $kind "hostPath" }}true{{ end -}}
{{- end }}

{{- /* It becomes part of expressions of the admission policies. */ -}}
{{- define "autopilot.prefix" -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" .Values.labelPrefix) -}}
{{- fail (printf "labelPrefix: expected a DNS name, not %q" .Values.labelPrefix) -}}
{{- end -}}
{{ .Values.labelPrefix }}
{{- end }}

{{- /* By which names requests may call an agent: those of its Services. */ -}}
{{- define "autopilot.hostNames" -}}
{{- range $service := list "autopilot-healthchecks" "autopilot-readinessprobe" "autopilot-metrics-service" }}
{{- range $end := list "" (printf ".%s" $.Release.Namespace) (printf ".%s.svc" $.Release.Namespace) (printf ".%s.svc.cluster.local" $.Release.Namespace) }}
- {{ $service }}{{ $end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "autopilot.pullPolicy" -}}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{- /* A number of a file as it stands there: Helm reads it as one with an exponent. */ -}}
{{- define "autopilot.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{- /* Go's durations, and bare numbers, which are hours: "4h" of 4, "0s" of 0. */ -}}
{{- define "autopilot.duration" -}}
{{- $text := include "autopilot.text" .value -}}
{{- if regexMatch "^[0-9]+$" $text -}}
{{- if eq (int $text) 0 }}0s{{ else }}{{ $text }}h{{ end -}}
{{- else if regexMatch "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" $text -}}
{{ $text }}
{{- else -}}
{{- fail (printf "%s: expected a duration such as 4h, 30m or 0, or a number of hours, not %q" .name $text) -}}
{{- end -}}
{{- end }}

{{- /* The value that values files for IBM Autopilot give to a variable. */ -}}
{{- define "autopilot.variable" -}}
{{- range .Values.env -}}
{{- if and (eq .name $.name) .value }}{{ include "autopilot.text" .value }}{{ end -}}
{{- end -}}
{{- end }}

{{- /* What a deep test may have for its period: 0, or 10 minutes to a year. */ -}}
{{- define "autopilot.period" -}}
{{- $period := include "autopilot.duration" . -}}
{{- $isMinutes := and (regexMatch "^[1-9][0-9]+m$" $period) (le (int (trimSuffix "m" $period)) 525600) -}}
{{- $isHours := and (regexMatch "^[1-9][0-9]*h([0-5]?[0-9]m)?$" $period) (le (int (first (splitList "h" $period))) 8760) -}}
{{- if not (or (eq $period "0s") $isMinutes $isHours) -}}
{{- fail (printf "%s: expected 0, or 10m to 8760h, not %q" .name $period) -}}
{{- end -}}
{{ $period }}
{{- end }}

{{- /* "a, b" as a list in JSON. */ -}}
{{- define "autopilot.words" -}}
{{- $words := list -}}
{{- range splitList "," . -}}
{{- $words = append $words (trim .) -}}
{{- end -}}
{{ without $words "" | toJson }}
{{- end }}
